from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layerwright.checks.feed import leaves
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._cells import SYMPTOMS, OneStep, cells, one_step


@rule("LW801", "error", hides=(*SYMPTOMS, "cell-output-size"))
def cell_return(lab: Lab) -> Iterator[Finding]:
    """A recurrent cell doesn't return `(output, new_states)`.

    ## What it does
    Calls the cell for one step and looks at what comes back: two things, the second as many states as went in,
    each of the shape that it had.

    ## Why is this bad
    A tensor for two rows can be taken apart into two as well: TensorFlow and PyTorch then take the rows of the
    batch for output and state, and say nothing. JAX speaks of the carry of a scan.

    ## Example
    ```python
    class Cell(keras.layers.Layer):
        def __init__(self, units=3, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.state_size = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")

        def call(self, inputs, states):
            return ops.tanh(ops.matmul(inputs, self.w) + states[0])

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Cell(keras.layers.Layer):
        def __init__(self, units=3, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.state_size = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")

        def call(self, inputs, states):
            h = ops.tanh(ops.matmul(inputs, self.w) + states[0])
            return h, [h]

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Source
    The documentation of `keras.layers.RNN`: the contract of a cell.
    """
    for component in cells(lab):
        step = one_step(lab, component)
        wrong = None if step.value is None else _wrong(step.value)
        if wrong is not None:
            yield lab.finding(
                f"`{component.name}.call` returns {wrong}.",
                expected=f"(output, new_states), with {len(step.get().states)} new state(s)",
                got=_said(step.get().result),
                fix="return `output, [state, ...]`, with the states in the order of `state_size`.",
                at=component.source.method("call"),
            )


def _wrong(step: OneStep) -> str | None:
    result = step.result
    if not isinstance(result, list | tuple):
        return "its output without the new states"
    if len(result) != 2:
        return f"{len(result)} things in place of an output and a list of states"
    new = [tuple(s.shape) for s in leaves(result[1])]
    if len(new) != len(step.states):
        return f"{len(new)} new states for {len(step.states)} that went in"
    if new != step.states:
        return f"states of shape {new} for {step.states}"
    return None


def _said(result: Any) -> str:
    if isinstance(result, list | tuple):
        return "(" + ", ".join(_said(item) for item in result) + ")"
    return f"a tensor of shape {tuple(result.shape)}" if hasattr(result, "shape") else type(result).__name__
