from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule(
    "LW303",
    "error",
    hides=("graph-differs", "no-gradient", "unused-weight", "policy-ignored", "mixed-precision-constant"),
)
def host_code_in_call(lab: Lab) -> Iterator[Finding]:
    """`call()` runs host code (Numba, SciPy, `numpy_function`) on a tensor.

    ## What it does
    Traces `call()` and reports a compiled host function or a callback into Python that stands in the way: it can't
    be traced, its shape is unknown, or it has no gradient.

    ## Why is this bad
    The callback holds Python's lock, loses shapes and gradients, and doesn't survive saving and export.

    ## Example
    ```python
    class Outside(layers.Layer):
        def call(self, x):
            values = ops.convert_to_numpy(x)
            return ops.convert_to_tensor(scipy.special.expit(values))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Outside(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.sigmoid(x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    TensorFlow issues 47033 and 40717.
    """
    found = cause(lab)
    if found is None or found.rule != "host-code-in-call":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` runs host code on a tensor, which can't be traced or differentiated.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="write it in `keras.ops`; making such a loop a native operation (`lw.kernel`) is planned.",
        at=found.at,
    )
