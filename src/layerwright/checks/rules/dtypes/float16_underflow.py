from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.feed import finite
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.dtypes._limits import both, parameters, tiny


@rule("LW503", "error", hides=("nonfinite-output", "nonfinite-gradient", "float16-overflow"))
def float16_underflow(lab: Lab) -> Iterator[Finding]:
    """A small constant that guards a division is zero in float16.

    ## What it does
    Runs the layer on zeros in float32 and under `mixed_float16`; NaN or infinity in float16 only is reported, at
    the number that float16 can't hold.

    ## Why is this bad
    The smallest float16 is 6e-8. `+ 1e-8` guards nothing, and the first row of zeros makes the loss NaN.

    ## Example
    ```python
    class Unit(layers.Layer):
        def call(self, x):
            return x / (ops.sqrt(ops.mean(ops.square(x), axis=-1, keepdims=True)) + 1e-8)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Unit(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            wide = ops.cast(x, keras.backend.result_type(self.compute_dtype, "float32"))
            scale = ops.rsqrt(ops.mean(ops.square(wide), axis=-1, keepdims=True) + 1e-6)
            return ops.cast(wide * scale, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras pull request 17571 (family).
    """
    for training in (False, True) if "training" in parameters(lab.called.get().layer.call) else (False,):
        full, half = both(lab, lab.feed.zeros(), training)
        if finite(full) and not finite(half):
            break
    else:
        return
    found = next(tiny(lab), None)
    component = found[0] if found is not None else lab.components[0]
    number = f"{found[3]:g}" if found is not None else "a small number"
    yield lab.finding(
        f"In float16 {number} in `{component.name}` is zero, and an input of zeros gives NaN or infinity.",
        expected="finite numbers, as in float32",
        got="NaN or infinity under mixed_float16",
        fix="compute the norm or quotient in float32 (`ops.cast(x, 'float32')`) and cast the result back.",
        at=(found[1], found[2]) if found is not None else component.source.method("call"),
    )
