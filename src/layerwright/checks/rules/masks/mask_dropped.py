from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.masks._masked import keeps_time, length, masked, user_layer


@rule("LW601", "note", advice=True)
def mask_dropped(lab: Lab) -> Iterator[Finding]:
    """A mask ends at this layer, though its output still has the time axis.

    ## What it does
    Calls the layer with a mask on its inputs, and looks whether one comes out.

    ## Why is this bad
    Layers behind this one average, attend and compute losses over padded steps. Keras gives a warning, once,
    among all that training prints.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(keras.layers.Layer):
        def call(self, x):
            return 0.5 * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return 0.5 * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    Keras issue 18543.
    """
    layer = user_layer(lab)
    if layer.supports_masking or not internals.is_default(layer.compute_mask):
        return
    result = masked(lab).get()
    steps = length(lab.feed)
    kept = [
        y
        for y, m in zip(result.outputs, result.masks, strict=True)
        if m is None and y.ndim >= 3 and keeps_time(y, lab, steps)
    ]
    if kept and len(kept) == len(result.outputs):
        yield lab.finding(
            f"`{type(layer).__name__}` keeps the time axis and drops the mask.",
            expected="the mask of the input on the output",
            got="supports_masking = False",
            fix="write `self.supports_masking = True` in `__init__`, after `super().__init__(**kwargs)`"
            + ("." if _position_wise(lab) else ", and leave masked steps out of what mixes steps."),
        )


def _position_wise(lab: Lab) -> bool:
    from layerwright.checks.feed import worst
    from layerwright.checks.rules.masks._masked import call, stirred

    layer = user_layer(lab)

    def probe() -> float:
        from layerwright.checks.feed import arrays

        first, second = (arrays(call(layer, feed)) for feed in (lab.feed, stirred(lab.feed)))
        return worst([y[:, :-1] for y in first], [y[:, :-1] for y in second])

    return (lab.attempt(probe).value or 0.0) < 1e-5
