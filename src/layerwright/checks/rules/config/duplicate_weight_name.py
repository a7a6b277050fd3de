from __future__ import annotations

from collections import Counter
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import constant, keyword


@rule("LW124", "note", advice=True)
def duplicate_weight_name(lab: Lab) -> Iterator[Finding]:
    """Two weights have one path.

    ## What it does
    Compares the paths of all weights of the called layer.

    ## Why is this bad
    The paths tell weights apart where they are looked up by name: `get_state_tree()`, layout maps for
    distribution, PyTorch's own parameters, and every listing. One of the two is lost there.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs_duplicate_weight_name")
    class Affine(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(), initializer="ones", name="w")
            self.shift = self.add_weight(shape=(), initializer="zeros", name="w")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * ops.cast(self.scale, x.dtype) + ops.cast(self.shift, x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_distinct_weight_names")
    class Affine(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
            self.shift = self.add_weight(shape=(), initializer="zeros", name="shift")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * ops.cast(self.scale, x.dtype) + ops.cast(self.shift, x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    `keras.Variable.path`.
    """
    layer = lab.called.get().layer
    component = lab.components[0]
    if component.source.method("build") is None and component.source.method("__init__") is None:
        return
    count = Counter(variable.path for variable in layer.weights)
    for path in (path for path, times in count.items() if times > 1):
        short = path.rsplit("/", 1)[-1]
        calls = [
            (function, call)
            for function, call, _ in component.source.calls("__init__", "build", "call")
            if constant(keyword(call, "name")) == short
        ]
        yield lab.finding(
            f"{count[path]} weights of `{component.name}` have the path `{path}`.",
            expected="a name for each weight, and for each sublayer",
            got=f"{count[path]} times `{path}`",
            fix="give each its own `name`.",
            at=calls[-1] if calls else component.source,
        )
