from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks.facts import CELL_METHODS, LAYER_METHODS, METHODS_ELSEWHERE, MODEL_METHODS, meant_method
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import methods, users
from layerwright.checks.source import Function


@rule(
    "LW217",
    "error",
    hides=("call-not-traceable", "auto-config-unsupported", "config-missing-arg", "no-compute-output-shape"),
)
def misspelt_method(lab: Lab) -> Iterator[Finding]:
    """A method's name is nearly that of one that Keras calls.

    ## What it does
    Compares the methods of the class with those that Keras calls. A method is reported whose name differs by a
    letter or two, or is what another framework calls it (`forward`, `training_step`), when the right one isn't
    written and nothing in the file calls this one.

    ## Why is this bad
    Keras doesn't call it and doesn't say so. A misspelt `build` leaves the layer without weights, a misspelt
    `get_config` loses the arguments, a misspelt `compute_mask` the mask.

    ## Example
    ```python
    class Scale(layers.Layer):
        def bulid(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

        def call(self, x):
            return x * self.scale
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * self.scale

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Known limits
    A helper that is called from another file only, and whose name happens to be so near, is reported too.

    ## Source
    keras, `layers/layer.py` and `models/model.py`: the methods to override.
    """
    for component in users(lab):
        written = methods(component.source)
        for name, function in written.items():
            meant = _meant(component, name, written)
            if meant is not None and not _used(function, name):
                yield lab.finding(
                    f"`{component.name}.{name}` is never called: Keras calls `{meant}`.",
                    expected=f"`def {meant}(...)`",
                    got=f"`def {name}({', '.join(function.parameters)})`",
                    fix=f"rename it to `{meant}`.",
                    at=function,
                )


def _meant(component: Component, name: str, written: dict[str, Function]) -> str | None:
    """The method of Keras' that a name stands for by mistake."""
    model = isinstance(component.layer, keras.Model)
    known = (*LAYER_METHODS, *(MODEL_METHODS if model else ()))
    known += CELL_METHODS if hasattr(component.layer, "state_size") else ()
    base = keras.Model if model else keras.layers.Layer
    # `forward` is PyTorch's own method of a layer on that backend.
    if hasattr(base, name) and name not in METHODS_ELSEWHERE:
        return None
    if name == "__int__" and len(written[name].parameters) < 2:
        return None
    meant = meant_method(name, known)
    return None if meant in written else meant


def _used(function: Function, name: str) -> bool:
    """Whether anything in the file mentions the name, other than a definition."""
    for node in ast.walk(function.file.tree):
        if isinstance(node, ast.Attribute) and node.attr == name and not _super(node):
            return True
        if isinstance(node, ast.Constant) and node.value == name:
            return True
    return False


def _super(node: ast.Attribute) -> bool:
    """`super().bulid(...)` within the method itself is no use of it."""
    return isinstance(node.value, ast.Call) and getattr(node.value.func, "id", None) == "super"
