"""What happens while a layer is constructed: when `Layer.__init__` runs, and what it resets."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt
from layerwright.checks.lab import Component, Lab
from layerwright.checks.rules._once import once
from layerwright.checks.source import Function, Source


@dataclasses.dataclass(frozen=True)
class Constructed:
    """One construction of the subject.

    Attributes:
        attempt: What came of it.
        runs: The layers on which `Layer.__init__` ran, each with its attributes before and after.
    """

    attempt: Attempt[Any]
    runs: tuple[tuple[Any, Mapping[str, Any], Mapping[str, Any]], ...]

    def reset(self, layer: Any) -> dict[str, tuple[Any, Any]]:
        """What a layer's own class had set before `Layer.__init__` set it again: the value before, and after."""
        found: dict[str, tuple[Any, Any]] = {}
        for other, before, after in self.runs:
            if type(other) is type(layer):
                found |= {k: (v, after[k]) for k, v in before.items() if k in after and not _same(v, after[k])}
        return found


def _same(one: Any, other: Any) -> bool:
    if one is other:
        return True
    try:
        return bool(one == other)
    except Exception:
        return False


@once
def constructed(lab: Lab) -> Constructed:
    """The subject, constructed once more and watched."""
    with internals.initialising() as runs:
        attempt = lab.attempt(lab.fresh)
    return Constructed(attempt, tuple(runs))


def super_call(source: Source) -> tuple[Function, ast.Call] | None:
    """The call of `super().__init__(...)`, or of a base class's `__init__` with `self`, in the constructor."""
    init = source.method("__init__")
    if init is None:
        return None
    for call in init.calls():
        if isinstance(call.func, ast.Attribute) and call.func.attr == "__init__" and _is_base(init, call, source):
            return init, call
    return None


def _is_base(init: Function, call: ast.Call, source: Source) -> bool:
    base = call.func.value if isinstance(call.func, ast.Attribute) else None
    if isinstance(base, ast.Call):
        return isinstance(base.func, ast.Name) and base.func.id == "super"
    target = init.resolve(base, source.layer) if base is not None else None
    return isinstance(target, type) and issubclass(target, keras.layers.Layer)


def before_super(component: Component) -> Iterator[tuple[Function, ast.Attribute, ast.AST]]:
    """Every `self.name = ...` in the constructor's own text above the call of `super().__init__`."""
    found = super_call(component.source)
    if found is None:
        return
    init, call = found
    for function, target, statement in component.source.stores("__init__"):
        if function.node is init.node and (target.lineno, target.col_offset) < (call.lineno, call.col_offset):
            yield function, target, statement
