from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.masks._masked import Masked, masked, shorter, user_layer


@rule("LW603", "error", hides=("mask-ignored",))
def mask_shape_mismatch(lab: Lab) -> Iterator[Finding]:
    """The mask that comes out doesn't fit the output.

    ## What it does
    Calls the layer with a mask on its inputs and compares the shape of the mask that travels with each output
    with the output's leading axes.

    ## Why is this bad
    The next layer that uses the mask fails, or spreads it over the wrong axis and says nothing.

    ## Example
    ```python
    class Pool2(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return x[:, ::2]
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Pool2(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return x[:, ::2]

        def compute_mask(self, inputs, mask=None):
            return None if mask is None else mask[:, ::2]

        def compute_output_shape(self, input_shape):
            steps = None if input_shape[1] is None else (input_shape[1] + 1) // 2
            return (input_shape[0], steps, *input_shape[2:])
    ```

    ## Source
    The Keras guide "Understanding masking and padding": a layer that changes the time axis implements `compute_mask`.
    """
    layer = user_layer(lab)
    if not layer.supports_masking:
        return
    found = _wrong(masked(lab).get()) or (_wrong(shorter(lab).value) if shorter(lab).value is not None else None)
    if found is None:
        return
    mask, output = found
    written = lab.components[0].source.method("compute_mask")
    default = internals.is_default(layer.compute_mask)
    yield lab.finding(
        f"The mask that `{type(layer).__name__}` hands on has the shape {mask}, and its output {output}.",
        expected=f"a mask of shape {output[: len(mask)]}, or None",
        got=f"a mask of shape {mask}" + (", the input's own" if default else ""),
        fix="implement `compute_mask(self, inputs, mask=None)`; return None where the time axis is gone."
        if default
        else "do to the mask in `compute_mask` what `call` does to the time axis.",
        at=written,
    )


def _wrong(result: Masked | None) -> tuple[tuple[int, ...], tuple[int, ...]] | None:
    if result is None:
        return None
    for output, mask in zip(result.outputs, result.masks, strict=True):
        if mask is not None and (mask.ndim > output.ndim or mask.shape != output.shape[: mask.ndim]):
            return mask.shape, output.shape
    return None
