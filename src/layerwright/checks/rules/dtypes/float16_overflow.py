from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.feed import finite, magnitude
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.dtypes._limits import LARGEST, both, with_mask


@rule("LW504", "error")
def float16_overflow(lab: Lab) -> Iterator[Finding]:
    """An intermediate value overflows in float16, although input and output fit.

    ## What it does
    Runs the layer on values of some hundreds in float32 and under `mixed_float16`. Where the float32 output would
    fit into float16 and the float16 one isn't finite, an intermediate value was too large.

    ## Why is this bad
    The largest float16 is 65504: the square of 256 is past it. Activations reach that after a few steps.

    ## Example
    ```python
    class RootMeanSquare(layers.Layer):
        def call(self, x):
            return ops.sqrt(ops.mean(x * x, axis=-1, keepdims=True) + 1e-3)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class RootMeanSquare(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            wide = ops.cast(x, keras.backend.result_type(self.compute_dtype, "float32"))
            y = ops.sqrt(ops.mean(wide * wide, axis=-1, keepdims=True) + 1e-3)
            return ops.cast(y, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 1)
    ```

    ## Source
    TensorFlow issue 41614.
    """
    full, half = both(lab, lab.feed.normal(6, 400.0))
    if finite(full) and max(map(magnitude, full), default=0.0) < LARGEST / 4 and not finite(half):
        component = lab.components[0]
        yield lab.finding(
            f"In float16 an intermediate value of `{component.name}` overflows for inputs of about 400.",
            expected=f"finite numbers: in float32 the output is at most {max(map(magnitude, full)):.3g}",
            got="NaN or infinity under mixed_float16",
            fix="compute squares, sums and exponentials in float32 (`ops.cast(x, 'float32')`) and cast the result back.",
            at=component.source.method("call"),
        )
        return
    masked = with_mask(lab)
    if masked is None:
        return
    full, half = both(lab, masked)
    if finite(full) and not finite(half):
        component = lab.components[0]
        yield lab.finding(
            f"In float16 `{component.name}` gives NaN or infinity where a step is masked.",
            expected="finite numbers, as in float32",
            got="NaN or infinity under mixed_float16",
            fix="put the mask in with `ops.where`, or with a number that float16 holds, such as -6e4: 1e9 is infinite there.",
            at=component.source.method("call"),
        )
