from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import is_users, users
from layerwright.checks.rules.build._influence import influence
from layerwright.checks.rules.build._use import counterpart, is_called, mentions, passed_in
from layerwright.checks.source import Function
from layerwright.checks.walk import held

ALL = ("weights", "variables", "trainable_weights", "trainable_variables", "get_weights")


@rule("LW444", "warning", hides=("unused-sublayer", "child-unbuilt-after-build"))
def child_weight_bypass(lab: Lab) -> Iterator[Finding]:
    """A sublayer's weights are used, and the sublayer itself is never called.

    ## What it does
    Looks for sublayers that the layer has made, that are called in no mode, and whose weights shape the output
    all the same, and for the line that reads them.

    ## Why is this bad
    What the sublayer does besides multiplying is left out: its dtype policy, activity regularizer, LoRA, and the
    scale of a quantized kernel. After `model.quantize("int8")` the numbers are wrong by orders of magnitude.

    ## Example
    ```python
    class Bypass(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.proj = layers.Dense(3, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return ops.matmul(x, self.proj.kernel) + self.proj.bias
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Bypass(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)
    ```

    ## Known limits
    A layer that was passed to the constructor may be called elsewhere (tied embeddings) and is not reported.

    ## Source
    keras-hub issue 1705.
    """
    lab.called.get()
    for component in users(lab):
        for item in held(component.layer):
            child = item.value
            if not isinstance(child, keras.layers.Layer) or is_users(child):
                continue
            if component.layer is lab.layer and item.path in passed_in(lab):
                continue
            if not is_called(lab, child) and child.variables:
                place = _place(component, item.attribute, child)
                if place is not None and _matters(lab, component, item.path):
                    yield _finding(lab, component, item.path, place)


def _place(component: Component, attribute: str, child: Any) -> tuple[Function, ast.AST] | None:
    """Where the methods read a weight of the child: `self.child.kernel`, also by way of a local name."""
    for function, node in mentions(component, attribute):
        names = {
            t.id
            for statement in function.walk()
            if isinstance(statement, ast.Assign | ast.For)
            for t in (statement.targets if isinstance(statement, ast.Assign) else [statement.target])
            if isinstance(t, ast.Name)
            and any(n is node for n in ast.walk(getattr(statement, "value", getattr(statement, "iter", statement))))
        }
        for read in function.walk():
            if not isinstance(read, ast.Attribute) or not _is_weight(child, read.attr):
                continue
            if any(n is node or (isinstance(n, ast.Name) and n.id in names) for n in ast.walk(read.value)):
                return function, read
    return None


def _is_weight(child: Any, name: str) -> bool:
    if name in ALL:
        return True
    try:
        return isinstance(getattr(child, name, None), keras.Variable)
    except Exception:
        return False


def _matters(lab: Lab, component: Component, path: str) -> bool:
    tried = influence(lab)
    if tried is None or not tried.modes:
        return True
    other = counterpart(lab, tried.layer, component.layer)
    child = next((item.value for item in held(other) if item.path == path), None) if other is not None else None
    variables = [v for v in getattr(child, "variables", []) if v.trainable] or internals.own_variables(child)
    return bool(variables) and tried.of(variables)


def _finding(lab: Lab, component: Component, path: str, place: tuple[Function, ast.AST]) -> Finding:
    read = ast.unparse(place[1])
    return lab.finding(
        f"`{component.name}` reads `{read}` and never calls `self.{path}` itself.",
        expected=f"`self.{path}(...)`",
        got="its weights without its dtype policy, quantization and regularizers",
        fix=f"call `self.{path}`.",
        at=place,
    )
