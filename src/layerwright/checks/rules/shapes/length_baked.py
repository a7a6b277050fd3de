from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW314", "warning", hides=("call-not-traceable",))
def length_baked(lab: Lab) -> Iterator[Finding]:
    """A weight's shape holds the length of the first sequence.

    ## What it does
    Builds the layer for two lengths of the time axis (axis 1 of an input of rank 3) and compares the shapes of the
    weights that it makes itself.

    ## Why is this bad
    An open time axis can't be built, and longer sequences fail later.

    ## Example
    ```python
    class AddPosition(layers.Layer):
        def build(self, input_shape):
            self.table = self.add_weight(shape=(input_shape[1], input_shape[2]), name="table")

        def call(self, x):
            return x + self.table
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class AddPosition(layers.Layer):
        def __init__(self, max_length=32, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.max_length = max_length

        def build(self, input_shape):
            self.table = self.add_weight(shape=(self.max_length, input_shape[-1]), name="table")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x + ops.convert_to_tensor(self.table)[: ops.shape(x)[1]]

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)

        def get_config(self):
            return {**super().get_config(), "max_length": self.max_length}
    ```

    ## Source
    Keras issue 18543 (family).
    """
    lab.called.get()
    if len(lab.feed.arrays) != 1 or lab.feed.arrays[0].ndim != 3 or lab.feed.arrays[0].shape[1] < 2:
        raise Skip("there is no single input with a time axis")
    longer = lab.feed.map(lambda x: np.concatenate([x, x[:, :1]], axis=1))

    def build_longer() -> Any:
        other = lab.fresh()
        other(*longer.args, **longer.kwargs)
        return other

    other = lab.attempt(build_longer)
    if not other.ok:
        raise Skip("the layer doesn't take another length at all")
    for component in lab.components:
        twin = next(
            (x for x in [other.get(), *internals.sublayers(other.get())] if type(x) is type(component.layer)), None
        )
        for weight, counterpart in zip(
            _own_weights(component.layer), _own_weights(twin) if twin is not None else [], strict=False
        ):
            if tuple(weight.shape) != tuple(counterpart.shape):
                yield lab.finding(
                    f"The shape of weight `{weight.name}` of `{component.name}` holds the length of the sequence.",
                    expected="the same weights for every length of axis 1",
                    got=f"{tuple(weight.shape)} for length {lab.feed.arrays[0].shape[1]}, {tuple(counterpart.shape)} for one more",
                    fix="take a `max_length` argument for the table's size, and cut it to the length of the input.",
                    at=component.source.method("build"),
                )
                return


def _own_weights(layer: Any) -> list[Any]:
    children = {id(v) for child in internals.own_layers(layer) for v in child.weights}
    return [v for v in layer.weights if id(v) not in children]
