from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule("LW307", "error", hides=("graph-differs", "no-gradient", "unused-weight"))
def call_not_traceable(lab: Lab) -> Iterator[Finding]:
    """`call()` works eagerly and fails when it is traced.

    ## What it does
    Calls the layer eagerly, on symbolic tensors, and compiled; reports a failure that only the traced call has and
    that no other rule explains.

    ## Why is this bad
    `fit`, `predict`, functional models and export all trace `call()`. Keras then asks for `compute_output_shape`, which only moves the failure to a later place.

    ## Example
    ```python
    class Alive(layers.Layer):
        def call(self, x):
            return x[:, ops.max(x, axis=0) > -100.0]
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Alive(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.where(x > -100.0, x, ops.zeros_like(x))

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 19379.
    """
    found = cause(lab)
    if found is None or found.rule != "call-not-traceable":
        return
    yield lab.finding(
        f"`{found.component.name}.call()` works eagerly and can't be traced.",
        expected="a call that can be traced",
        got=found.failure.summary,
        fix="mend the line that fails; `compute_output_shape` would only hide it until `fit`.",
        at=found.at,
    )
