from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule("LW304", "error", hides=("graph-differs", "no-gradient", "unused-weight"))
def static_batch(lab: Lab) -> Iterator[Finding]:
    """`call()` uses the size of the batch as a Python number.

    ## What it does
    Calls the layer on symbolic tensors with an open batch and with a fixed one; where only the open one fails, the
    size of the batch was needed while tracing.

    ## Why is this bad
    In a functional model and in `fit` the size of the batch is `None`.

    ## Example
    ```python
    class AddAxis(layers.Layer):
        def call(self, x):
            return ops.reshape(x, (x.shape[0], -1, 1))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class AddAxis(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.expand_dims(x, -1)

        def compute_output_shape(self, input_shape):
            return (*input_shape, 1)
    ```

    ## Source
    TensorFlow issue 51143, Keras issue 15066.
    """
    found = cause(lab)
    if found is None or found.rule != "static-batch":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` needs the size of the batch while it is traced, where it is None.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="write -1 for the batch in `ops.reshape`, or take the size from `ops.shape(x)[0]`.",
        at=found.at,
    )
