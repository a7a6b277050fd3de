from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layerwright.checks.feed import finite
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW403", "error", hides=("nonfinite-gradient",))
def nonfinite_output(lab: Lab) -> Iterator[Finding]:
    """The output is NaN for an ordinary input.

    ## What it does
    Calls the layer with the inputs that were given, with zeros, and with a row of equal values, and looks for
    NaN (and for infinity at the inputs that were given).

    ## Why is this bad
    One such row (padding, a constant image) makes the loss NaN, and after one step every weight.

    ## Example
    ```python
    class Standardize(layers.Layer):
        def call(self, x):
            centred = x - ops.mean(x, axis=-1, keepdims=True)
            return centred / ops.std(x, axis=-1, keepdims=True)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Standardize(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            wide = ops.cast(x, keras.backend.result_type(self.compute_dtype, "float32"))
            centred = wide - ops.mean(wide, axis=-1, keepdims=True)
            scale = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + 1e-3)
            return ops.cast(centred * scale, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Known limits
    Infinity at zero is not reported: a logarithm has it by definition.

    ## Source
    Keras pull request 17571 (the family of divisions by zero).
    """
    called = lab.called.get()
    if not finite(lab.feed.floats):
        return
    if not finite(called.outputs):
        yield _say(lab, "the inputs that were given")
        return
    cases = {
        "zeros": lab.feed.zeros(),
        "rows of equal values": lab.feed.floating(lambda x: np.full_like(x, 0.5)),
    }
    for name, feed in cases.items():
        outputs = lab.attempt(lambda feed=feed: lab.infer(called.layer, feed))  # type: ignore[misc]
        if outputs.value is not None and any(
            np.isnan(y.astype("float64")).any() for y in outputs.value if y.dtype.kind == "f"
        ):
            yield _say(lab, name)
            return


def _say(lab: Lab, where: str) -> Finding:
    component = lab.components[0]
    return lab.finding(
        f"The output of `{component.name}` isn't finite for {where}.",
        expected="finite numbers for finite inputs",
        got="NaN or infinity",
        fix="add a small constant to what can be zero in a divisor, a root or a logarithm.",
        at=component.source.method("call"),
    )
