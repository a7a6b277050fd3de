from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import Any

import keras

from layerwright.checks.feed import leaves
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._cells import SYMPTOMS, cells, sizes, takes_batch_size


@rule("LW803", "error", hides=("cell-return", "cell-output-size", *SYMPTOMS))
def cell_initial_state_signature(lab: Lab) -> Iterator[Finding]:
    """A cell's `get_initial_state` can't be called with the batch size alone.

    ## What it does
    Calls `get_initial_state(batch_size=2)` of every cell, as `keras.layers.RNN` does, and compares the states
    that come back with `state_size`.

    ## Why is this bad
    Keras 2 passed `inputs`, `batch_size` and `dtype`. Keras 3 passes `batch_size` and nothing else.

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
            return h, [h]

        def get_initial_state(self, inputs, batch_size, dtype):
            return [ops.zeros((batch_size, self.units), dtype=dtype)]

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

        def get_initial_state(self, batch_size=None):
            return [ops.zeros((batch_size, self.units), dtype=self.compute_dtype)]

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Source
    TensorFlow issues 34541 and 34539.
    """
    for component in cells(lab):
        written = component.source.method("get_initial_state")
        if written is None:
            continue
        start = component.layer.get_initial_state
        if not takes_batch_size(start):
            yield lab.finding(
                f"`{component.name}.get_initial_state` can't be called with `batch_size` alone.",
                expected="get_initial_state(self, batch_size=None)",
                got=f"get_initial_state({', '.join(written.parameters)})",
                fix="write `def get_initial_state(self, batch_size=None):` and take the dtype from `self.compute_dtype`.",
                at=written,
            )
            continue
        given = lab.attempt(partial(_started, start))
        if given.failure is not None:
            yield lab.finding(
                f"`{component.name}.get_initial_state` fails when it is called with `batch_size` alone.",
                expected="states made from `batch_size` and what the cell knows",
                got=given.failure.summary,
                fix="use no argument but `batch_size`, and take the dtype from `self.compute_dtype`.",
                at=given.failure if given.failure.at is not None else written,
            )
        if given.value is None:
            continue
        shapes = [tuple(s.shape) for s in given.value if keras.ops.is_tensor(s)]
        wanted = [(2, *size) for size in sizes(component.layer)]
        if shapes != wanted:
            yield lab.finding(
                f"`{component.name}.get_initial_state` gives other states than `state_size` says.",
                expected=f"states of shape {wanted} for a batch of 2",
                got=f"{shapes}",
                fix="make one state of shape `(batch_size, size)` for each entry of `state_size`.",
                at=written,
            )


def _started(start: Callable[..., Any]) -> list[Any]:
    return leaves(start(batch_size=2))
