from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule("LW305", "error", hides=("graph-differs", "no-gradient", "unused-weight"))
def loop_over_batch(lab: Lab) -> Iterator[Finding]:
    """`call()` loops over the rows of the batch in Python.

    ## What it does
    Reports a Python loop whose length is the size of the batch, where it keeps the layer from being traced with an
    open batch.

    ## Why is this bad
    The size of the batch is `None` while tracing; where it is known, the loop is unrolled into a graph that grows
    with the batch.

    ## Example
    ```python
    class Norms(layers.Layer):
        def call(self, x):
            rows = [ops.sum(ops.abs(x[i])) for i in range(x.shape[0])]
            return ops.stack(rows)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Norms(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.sum(ops.abs(x), axis=-1)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape[:-1])
    ```

    ## Source
    TensorFlow issue 51143.
    """
    found = cause(lab)
    if found is None or found.rule != "loop-over-batch":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` loops over the rows of the batch, whose number is None while tracing.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="work on all rows at once with an axis argument, or use `ops.vectorized_map`.",
        at=found.at,
    )
