from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._cells import SYMPTOMS, cells, one_step, sizes


@rule("LW802", "error", hides=SYMPTOMS)
def cell_output_size(lab: Lab) -> Iterator[Finding]:
    """A recurrent cell's output isn't as wide as its `output_size` says.

    ## What it does
    Calls the cell for one step and compares the last axis of its output with `output_size`, or with the first
    `state_size` where the cell has no `output_size`: that is what `keras.layers.RNN` goes by.

    ## Why is this bad
    In a functional model the layers behind are built for another width, and fail when data comes in.

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
            h = ops.tanh(ops.matmul(inputs, self.w) + states[0])
            return ops.concatenate([h, inputs], axis=-1), [h]

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
            self.output_size = units

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")

        def call(self, inputs, states):
            h = ops.tanh(ops.matmul(inputs, self.w) + states[0])
            return h, [h]

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Source
    `RNN.compute_output_shape` in Keras 3.
    """
    for component in cells(lab):
        step = one_step(lab, component)
        result = None if step.value is None else step.value.result
        if not isinstance(result, list | tuple) or len(result) != 2 or not hasattr(result[0], "shape"):
            continue
        cell, width = component.layer, result[0].shape[-1]
        declared = getattr(cell, "output_size", None)
        if declared is not None and not isinstance(declared, int):
            yield lab.finding(
                f"`{component.name}.output_size` is no whole number, which is all that `RNN` takes.",
                expected=f"output_size = {width}",
                got=f"output_size = {declared!r}",
                fix="set `self.output_size` to the width of what `call` returns as its output.",
                at=component.source.method("__init__"),
            )
            continue
        says = declared if isinstance(declared, int) else sizes(cell)[0][-1]
        if width != says:
            named = "output_size" if isinstance(declared, int) else "state_size"
            yield lab.finding(
                f"`{component.name}` gives an output of width {width}, and its `{named}` says {says}.",
                expected=f"output_size = {width}",
                got=f"{named} = {says}",
                fix="set `self.output_size` to the width of what `call` returns as its output.",
                at=component.source.method("call"),
            )
