from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import attribute_of, place_of, users
from layerwright.checks.rules.build._influence import influence
from layerwright.checks.rules.build._use import by_name, counterpart, decides, mentions

# Operations by which a weight that has no influence on these inputs may have one on others.
SELECTING = (
    "where",
    "select",
    "cond",
    "switch",
    "take",
    "gather",
    "scatter",
    "one_hot",
    "maximum",
    "minimum",
    "clip",
    "relu",
)


@rule("LW222", "warning")
def unused_weight(lab: Lab) -> Iterator[Finding]:
    """A trainable weight has no influence on anything.

    ## What it does
    Changes each trainable weight of the layer's own strongly and compares outputs, losses and state of several
    calls, in training and in inference, bit by bit. A weight that changes nothing is reported, unless a branch or
    a selection in `call` may use it for other inputs.

    ## Why is this bad
    It is saved and counted, and never trained. Usually a line is missing in `call`, or an old one is left in `build`.

    ## Example
    ```python
    class Proj(layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")
            self.temperature = self.add_weight(shape=(), name="temperature")

        def call(self, x):
            return ops.matmul(x, self.w)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Proj(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")
            self.temperature = self.add_weight(shape=(), initializer="ones", name="temperature")

        def call(self, x):
            return ops.matmul(ops.cast(x, self.compute_dtype), self.w) * self.temperature

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Source
    Keras issue 12521.
    """
    tried = influence(lab)
    if tried is None or not tried.modes:
        return
    for component in users(lab):
        other = counterpart(lab, tried.layer, component.layer)
        if other is None:
            continue
        for mine, theirs in zip(internals.own_variables(component.layer), internals.own_variables(other), strict=False):
            if mine.trainable and _suspicious(component, mine) and not tried.of([theirs]):
                yield _finding(lab, component, mine)


def _suspicious(component: Component, variable: object) -> bool:
    """Whether the source leaves no other use of a weight than the one that the probes would see."""
    if by_name(component):
        return False
    read = mentions(component, _root(component, variable) or "")
    for function, node in read:
        if decides(function) or any(_selects(n) for n in function.walk()):
            return False
        del node
    return True


def _selects(node: ast.AST) -> bool:
    name = getattr(node, "attr", getattr(node, "id", ""))
    return isinstance(node, ast.Attribute | ast.Name) and name in SELECTING


def _root(component: Component, variable: object) -> str | None:
    path = attribute_of(component.layer, variable)
    return None if path is None else re.split(r"[.\[]", path)[1]


def _finding(lab: Lab, component: Component, variable: object) -> Finding:
    path = attribute_of(component.layer, variable)
    name = path or f"the weight {getattr(variable, 'name', '')}"
    root = _root(component, variable)
    read = mentions(component, root) if root else []
    shown = f"`{name}`" if path else name
    return lab.finding(
        f"{shown} of `{component.name}` has no influence on outputs, losses or state.",
        expected="a trainable weight that `call` uses",
        got="the same results for other values of it" if read else "a weight that `call` never reads",
        fix=f"use {shown} in `call`, or delete it.",
        at=place_of(component, root) if root else component.source,
    )
