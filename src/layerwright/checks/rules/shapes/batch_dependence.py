from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.attempt import Skip
from layerwright.checks.feed import close, worst
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW312", "warning")
def batch_dependence(lab: Lab) -> Iterator[Finding]:
    """A row's output depends on the other rows of its batch.

    ## What it does
    Calls the layer in inference mode with a batch and with its first row alone, and compares that row's output.

    ## Why is this bad
    Predictions change with the batch they happen to come in; training on several devices gives other results.

    ## Example
    ```python
    class Demean(layers.Layer):
        def call(self, x):
            return x - ops.mean(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Demean(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x - ops.mean(x, axis=-1, keepdims=True)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    mindee/doctr issue 47 (family).
    """
    whole, alone = lab.rows.get()
    if not lab.inference_is_steady:
        raise Skip("two calls in inference mode differ already")
    same_shapes = [w.shape for w in whole] == [a.shape for a in alone]
    if same_shapes and not close(whole, alone, 1e-3):
        component = lab.components[0]
        yield lab.finding(
            f"In inference mode a row of `{component.name}`'s output depends on the other rows of the batch.",
            expected="the same output for a row alone and in a batch",
            got=f"the first row's outputs differ by {worst(whole, alone):.3g}",
            fix="reduce over the axes of a row (`axis=-1`), not over the batch; say allow={'batch-dependence': 'why'} where it is meant.",
            at=component.source.method("call"),
        )
