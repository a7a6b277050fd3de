from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule(
    "LW302",
    "error",
    hides=("graph-differs", "no-gradient", "unused-weight", "policy-ignored", "mixed-precision-constant"),
)
def numpy_in_call(lab: Lab) -> Iterator[Finding]:
    """`call()` hands a tensor to NumPy.

    ## What it does
    Traces `call()` and reports a NumPy function, `.numpy()`, `.item()`, `float()` or `convert_to_numpy` that asks
    for a tensor's value.

    ## Why is this bad
    It works eagerly, fails when it is traced, and where it does run it cuts the gradient.

    ## Example
    ```python
    class Squash(layers.Layer):
        def call(self, x):
            return np.tanh(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Squash(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.tanh(x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issues 6163 and 15121.
    """
    found = cause(lab)
    if found is None or found.rule != "numpy-in-call":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` needs the value of a tensor, which it doesn't have while it is traced.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="use the function of the same name in `keras.ops`, and keep NumPy for constants.",
        at=found.at,
    )
