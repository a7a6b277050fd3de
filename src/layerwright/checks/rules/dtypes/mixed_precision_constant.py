from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.dtypes._policy import constants, mismatch, widened


@rule("LW501", "error", hides=("policy-ignored", "call-not-traceable"))
def mixed_precision_constant(lab: Lab) -> Iterator[Finding]:
    """A float32 constant meets the half-precision activations of mixed precision.

    ## What it does
    Runs the layer under `mixed_float16`, in both modes. A dtype error, or a float32 output that comes of a
    constant or of a tensor made without a dtype, is reported at that constant.

    ## Why is this bad
    TensorFlow raises in the first step; JAX and PyTorch promote in silence, so that all that follows runs in
    float32 and mixed precision gains nothing.

    ## Example
    ```python
    class Tint(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.tint = ops.convert_to_tensor(np.array([0.1, 0.2, 0.3, 0.4], "float32"))

        def call(self, x):
            return x * self.tint
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Tint(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * ops.convert_to_tensor([0.1, 0.2, 0.3, 0.4], dtype=x.dtype)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 16907, TensorFlow issue 35817, keras-cv issue 2102.
    """
    if not lab.feed.floats and not lab.feed.arrays:
        raise Skip("the layer has no array input")
    own = lab.called.failure
    failures = [f for f in (own, lab.float16.failure, lab.float16_training.failure) if f is not None and mismatch(f)]
    wide = widened(lab.float16) or widened(lab.float16_training)
    if not failures and wide is None:
        return
    for component in lab.components:
        found = next(constants(lab, component), None)
        if found is None and not failures:
            continue
        function, node, name = found or (None, None, "a full-precision value")
        yield lab.finding(
            f"Under mixed precision `{component.name}` mixes its half-precision input with {name} in full precision.",
            expected="values in the compute dtype, float16",
            got=failures[0].summary if failures else f"an output in {wide}",
            fix="cast the constant: `ops.cast(value, x.dtype)`, or give `dtype=x.dtype` where it is made.",
            at=(function, node) if function is not None and node is not None else failures[0],
        )
        return
