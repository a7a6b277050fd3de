from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from layerwright.backends import BACKENDS
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import root_module
from layerwright.checks.source import Function


@rule("LW317", "note", advice=True)
def backend_specific_ops(lab: Lab) -> Iterator[Finding]:
    """`call()` uses one framework's own operations.

    ## What it does
    Reports calls of TensorFlow, JAX or PyTorch functions in what `call()` reaches.

    ## Why is this bad
    The layer runs on one of the three backends only; `keras.ops` has nearly all of them.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Positive(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            import jax

            return jax.nn.relu(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Positive(layers.Layer):
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
    The second of the three articles.
    """
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            if _framework(function, call, target):
                yield lab.finding(
                    f"`{component.name}.call()` calls `{ast.unparse(call.func)}`, which is one framework's own.",
                    expected="`keras.ops`, which runs on every backend",
                    got=ast.unparse(call.func),
                    fix="use the function of `keras.ops`.",
                    at=(function, call),
                )
                break


def _framework(function: Function, call: ast.Call, target: Any) -> bool:
    """Whether a function is reached through a framework's module, however it is imported."""
    name = root_module(function, call) or str(getattr(target, "__module__", None) or "")
    return name.split(".")[0] in BACKENDS
