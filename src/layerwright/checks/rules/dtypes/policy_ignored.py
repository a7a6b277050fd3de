from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.dtypes._policy import widened


@rule("LW502", "warning")
def policy_ignored(lab: Lab) -> Iterator[Finding]:
    """The output isn't in the dtype that the policy asks for.

    ## What it does
    Runs the layer under `mixed_float16` and looks at the dtype of its floating outputs.

    ## Why is this bad
    What follows computes in another precision than was asked for: slower, or failing where dtypes may not mix.

    ## Example
    ```python
    class Careful(layers.Layer):
        def call(self, x):
            return ops.softplus(ops.cast(x, "float32"))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Careful(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            wide = ops.softplus(ops.cast(x, "float32"))
            return ops.cast(wide, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Known limits
    A head that returns float32 on purpose (for a stable loss) says so with `dtype="float32"` in its constructor.

    ## Source
    Keras' guide to mixed precision.
    """
    result = lab.float16.get()
    wide = widened(lab.float16)
    if wide is not None:
        component = lab.components[0]
        yield lab.finding(
            f"Under mixed_float16 `{component.name}` returns {wide}.",
            expected=result.layer.compute_dtype,
            got=wide,
            fix="end `call` with `ops.cast(y, self.compute_dtype)`.",
            at=component.source.method("call"),
        )
