"""Where the user's code touches an attribute, and what kind of thing holds what a call left behind."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

from layerwright.checks.source import Function, Source

if TYPE_CHECKING:
    from layerwright.checks.lab import Component, Lab


def attribute(path: str) -> str:
    """The attribute under which something is found: `history` of `history[0]`."""
    return re.split(r"[.\[]", path, maxsplit=1)[0]


def stored(source: Source, name: str, *methods: str) -> tuple[Function, ast.AST] | None:
    """Where the methods assign `self.name`."""
    return next(((f, node) for f, target, node in source.stores(*methods) if target.attr == name), None)


def touched(source: Source, name: str, *methods: str) -> tuple[Function, ast.AST] | None:
    """Where the methods first mention `self.name`, by attribute or by `setattr`."""
    for function in source.reachable(*methods):
        for node in function.walk():
            if isinstance(node, ast.Attribute) and node.attr == name:
                if function.resolve(node.value, source.layer) is source.layer:
                    return function, node
            elif isinstance(node, ast.Constant) and node.value == name:
                return function, node
    return None


def place(lab: Lab, owner: Any, name: str) -> tuple[Function, ast.AST] | Source | None:
    """The user's line in `call` that touches an attribute of a layer; the class where none is seen."""
    component = component_of(lab, owner)
    if component is None:
        return None
    source = component.source
    return stored(source, name, "call") or touched(source, name, "call") or source.method("call") or source  # type: ignore[return-value]


def component_of(lab: Lab, owner: Any) -> Component | None:
    """The component whose class a layer has."""
    return next((c for c in lab.components if type(c.layer) is type(owner)), None)


def outside(source: Source, *methods: str) -> Iterator[tuple[str, Any, Function, ast.AST]]:
    """Names of the module or of an enclosing function that the methods mention, with what they mean."""
    for function in source.reachable(*methods):
        for node in function.walk():
            if isinstance(node, ast.Name):
                value = function.resolve(node, source.layer)
                if value is not source.layer:
                    yield node.id, value, function, node


def branch_of(function: Function, node: ast.AST) -> ast.If | None:
    """The innermost `if` in which a node stands."""
    parent = function.file.parents.get(node)
    while parent is not None and parent is not function.node:
        if isinstance(parent, ast.If):
            return parent
        parent = function.file.parents.get(parent)
    return None
