from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import attribute_of, stores, users, variables_below
from layerwright.checks.rules.build._influence import influence
from layerwright.checks.rules.build._use import counterpart
from layerwright.checks.source import Function

SYMPTOMS = (
    "no-gradient",
    "unused-weight",
    "reload-differs",
    "mixed-precision-constant",
    "native-variable",
    "random-table-in-init",
    "unused-sublayer",
)
# What of a weight can be kept without keeping its value.
DESCRIPTIONS = ("shape", "dtype", "name", "path", "ndim", "trainable", "regularizer", "constraint", "initializer")


@rule("LW443", "error", hides=SYMPTOMS)
def weight_snapshot(lab: Lab) -> Iterator[Finding]:
    """A copy of a weight is taken when the layer is built, and used in its place.

    ## What it does
    Looks in `__init__` and `build` for an attribute that is set to something computed from a weight and that holds
    a tensor or array. Where `call` reads it and the weight itself has no influence any more, it is reported.

    ## Why is this bad
    The copy keeps the initial value for ever: the weight gets no gradient, training changes nothing, and a loaded
    layer computes with new random values instead of the saved ones.

    ## Example
    ```python
    class Mix(layers.Layer):
        def build(self, input_shape):
            self.logits = self.add_weight(shape=(input_shape[-1],), name="logits")
            self.shares = ops.softmax(self.logits * 1.0)

        def call(self, x):
            return x * ops.cast(self.shares, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Mix(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.logits = self.add_weight(shape=(input_shape[-1],), name="logits")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * ops.softmax(self.logits * 1.0)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    keras, `backend/common/variables.py`: a variable's value is read where it is used.
    """
    tried = influence(lab)
    for component in users(lab):
        weights = variables_below(component.layer)
        copies = list(_copies(lab, component))
        if not copies or tried is None:
            continue
        other = counterpart(lab, tried.layer, component.layer)
        theirs = variables_below(other) if other is not None else []
        for function, target, statement, names in copies:
            idle = [
                w for w, t in zip(weights, theirs, strict=False) if _named(component, w, names) and not tried.of([t])
            ]
            if idle:
                yield _finding(lab, component, function, target, statement, idle[0])


def _copies(lab: Lab, component: Component) -> Iterator[tuple[Function, ast.Attribute, ast.AST, set[str]]]:
    """Attributes set from a weight's value: where, and the names of attributes and local variables that they use."""
    source = component.source
    for function, target, statement in stores(source, "__init__", "build"):
        value = getattr(statement, "value", None)
        names = _values_used(value) if value is not None else set()
        held = vars(component.layer).get(target.attr, lab.engine.registered(component.layer).get(target.attr))
        if names and _is_copy(lab, held) and source.reads(target.attr, "call") is not None:
            yield function, target, statement, names | {target.attr}


def _values_used(value: ast.AST) -> set[str]:
    """Names of attributes and variables in an expression whose values it uses, not merely their shape or name."""
    described = {id(n.value) for n in ast.walk(value) if isinstance(n, ast.Attribute) and n.attr in DESCRIPTIONS}
    names = set()
    for node in ast.walk(value):
        if id(node) in described:
            continue
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and isinstance(node.value, ast.Name):
            names.add(node.attr)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
            names.add(node.id)
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "add_weight":
            names.add("add_weight")
    return names


def _is_copy(lab: Lab, value: Any) -> bool:
    if isinstance(value, keras.Variable):
        return False
    return isinstance(value, np.ndarray | float) or (lab.engine.is_tensor(value) and not lab.engine.is_variable(value))


def _named(component: Component, weight: Any, names: set[str]) -> bool:
    """Whether an expression with these names uses a weight: by its attribute, its local name, or where it is made."""
    path = attribute_of(component.layer, weight)
    if path is None:
        owner = next(
            (c for c in internals.sublayers(component.layer) if any(weight is v for v in internals.own_variables(c))),
            None,
        )
        path = attribute_of(component.layer, owner) if owner is not None else None
        if owner is not None and path is None:
            return False
    if path is not None:
        return re.split(r"[.\[]", path)[1] in names
    # No attribute holds it: the copy took its place, or it was a local variable.
    return bool(names)


def _finding(
    lab: Lab, component: Component, function: Function, target: ast.Attribute, statement: ast.AST, weight: Any
) -> Finding:
    name = attribute_of(component.layer, weight) or weight.name
    return lab.finding(
        f"`self.{target.attr}` of `{component.name}` keeps the value that the weight `{name}` had in `{function.name}`.",
        expected="the weight's present value at every call",
        got="its initial value for ever: the weight has no influence",
        fix="compute it in `call`.",
        at=(function, statement),
    )
