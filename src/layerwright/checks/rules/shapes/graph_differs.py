from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.attempt import Skip
from layerwright.checks.feed import close, worst
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW318", "error", backends=("tensorflow", "jax"))
def graph_differs(lab: Lab) -> Iterator[Finding]:
    """Eager and compiled calls give different numbers.

    ## What it does
    Calls the layer eagerly and compiled in inference mode with the same weights and inputs.

    ## Why is this bad
    What was tried out in eager mode isn't what `fit` and `predict` compute.

    ## Example
    ```python
    class Alternate(layers.Layer):
        def call(self, x):
            import tensorflow as tf

            return x * 2.0 if tf.executing_eagerly() else x
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Alternate(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * 2.0

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 20165.
    """
    if not lab.inference_is_steady:
        raise Skip("two calls in inference mode differ already")
    eager, compiled = lab.inferred.get(), lab.compiled.get()
    if not close(eager, compiled, 1e-3):
        component = lab.components[0]
        yield lab.finding(
            f"`{component.name}` gives other numbers compiled than eagerly.",
            expected="equal outputs",
            got=f"outputs that differ by {worst(eager, compiled):.3g}",
            fix="keep Python state and decisions on whether it is traced out of `call`.",
            at=component.source.method("call"),
        )
