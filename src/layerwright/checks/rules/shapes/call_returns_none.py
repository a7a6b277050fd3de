from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW308", "error", hides=("call-not-traceable", "no-gradient", "unused-weight", "reload-differs", "mask-dropped"))
def call_returns_none(lab: Lab) -> Iterator[Finding]:
    """`call()` returns nothing.

    ## What it does
    Calls the layer and looks at what comes back.

    ## Why is this bad
    An eager call gives `None` without a word, and the functional model complains about outputs, not about the
    layer.

    ## Example
    ```python
    class Rectify(layers.Layer):
        def call(self, x):
            x = ops.relu(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Rectify(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.relu(x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    A slip that beginners report.
    """
    if lab.called.ok and lab.called.get().raw is None:
        component = lab.components[0]
        yield lab.finding(
            f"`{component.name}.call()` returns None.",
            expected="a tensor, or a structure of tensors",
            got="None",
            fix="end `call` with `return` and its result.",
            at=component.source.method("call"),
        )
