from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layerwright.checks.attempt import Failure, Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW506", "note", advice=True)
def int_input(lab: Lab) -> Iterator[Finding]:
    """The layer fails on integer input.

    ## What it does
    Calls the layer with whole numbers in an integer dtype where floats were given; or sees that it fails with the
    integers that were given.

    ## Why is this bad
    Keras casts floating inputs to the compute dtype and leaves integers as they are: counts and pixels arrive as
    integers, and TensorFlow doesn't mix them with floats.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Shifted(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.shift = self.add_weight(shape=(input_shape[-1],), name="shift")

        def call(self, x):
            return x + self.shift

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Shifted(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.shift = self.add_weight(shape=(input_shape[-1],), name="shift")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + self.shift

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issues 15778 and 19629.
    """
    failure = lab.called.failure
    if failure is None:
        if not lab.feed.floats:
            raise Skip("there is no floating input to replace")
        whole = lab.feed.map(lambda x: np.round(x).astype("int32") if x.dtype.kind == "f" else x)
        layer = lab.called.get().layer
        failure = lab.attempt(lambda: lab.infer(layer, whole)).failure
    elif not any(x.dtype.kind in "iu" for x in lab.feed.arrays):
        return
    if failure is None or not _about_integers(failure):
        return
    component = lab.components[0]
    yield lab.finding(
        f"`{component.name}` fails on integer input.",
        expected="integers cast to the compute dtype",
        got=failure.summary,
        fix="begin `call` with `x = ops.cast(x, self.compute_dtype)`.",
        at=failure,
    )


def _about_integers(failure: Failure) -> bool:
    return failure.mentions("int32", "int64", "Int", "Long", "integer", "Long but", "dtype", "same type")
