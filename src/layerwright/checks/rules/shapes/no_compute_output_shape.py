from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW316", "note", advice=True)
def no_compute_output_shape(lab: Lab) -> Iterator[Finding]:
    """The layer has no `compute_output_shape()`.

    ## What it does
    Looks whether the layer, or a class it inherits from, declares its output shape or spec.

    ## Why is this bad
    Wrappers such as `TimeDistributed` can't use it, and every symbolic call has to trace `call()`.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * 0.5
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * 0.5

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issues 21605 and 16907.
    """
    component = lab.components[0]
    layer = component.layer
    if internals.is_functional(layer) or internals.is_cell(layer):
        return
    if internals.is_default(layer.compute_output_shape) and internals.is_default_spec(type(layer)):
        yield lab.finding(
            f"`{component.name}` doesn't say its output shape, which wrappers such as `TimeDistributed` need.",
            expected="a method `compute_output_shape(self, input_shape)`",
            got="the default of `Layer`",
            fix="add `compute_output_shape`, with None where the input has None.",
            at=component.source,
        )
