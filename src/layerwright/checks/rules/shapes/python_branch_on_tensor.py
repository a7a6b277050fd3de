from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule("LW301", "error", hides=("graph-differs", "no-gradient", "unused-weight"))
def python_branch_on_tensor(lab: Lab) -> Iterator[Finding]:
    """`call()` branches in Python on the value of a tensor.

    ## What it does
    Traces `call()` on symbolic tensors and reports an `if`, `while`, `and`, `or` or `not` that asks for a tensor's
    value.

    ## Why is this bad
    It works eagerly and fails in `fit`, `predict` and functional models. On JAX, Keras hides the cause behind
    `'str' object has no attribute '_error_repr'`.

    ## Example
    ```python
    class Boost(layers.Layer):
        def call(self, x):
            if ops.mean(x) > 0.5:
                return x * 2.0
            return x
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Boost(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            above = ops.mean(x, axis=-1, keepdims=True) > 0.5
            return ops.where(above, x * 2.0, x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issues 19379 and keras-core 718.
    """
    found = cause(lab)
    if found is None or found.rule != "python-branch-on-tensor":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` asks Python to decide on the value of a tensor.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="choose with `ops.where(condition, a, b)`, or `ops.cond` where only one side may run.",
        at=found.at,
    )
