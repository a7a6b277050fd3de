"""What several rules about building and tracking share: names, places in the source, and probes made once."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.source import Function, Source, function_of
from layerwright.checks.walk import held

CONSTRUCTION = ("__init__", "build")
# Hundreds of methods stand in the bases that every layer has, and none of them is the user's.
NOT_THE_USERS = ("keras", "tensorflow", "torch", "builtins")


def is_users(layer: Any) -> bool:
    """Whether a layer's class is not one of Keras' own."""
    return type(layer).__module__.split(".")[0] != "keras"


def users(lab: Lab) -> Iterator[Component]:
    """The components whose class the user wrote."""
    return (component for component in lab.components if is_users(component.layer))


def methods(source: Source) -> dict[str, Function]:
    """Every method that the user wrote, in the class and in bases that aren't Keras' own, by name."""
    found: dict[str, Function] = {}
    for cls in source.cls.__mro__:
        if cls.__module__.split(".")[0] in NOT_THE_USERS:
            continue
        for name, member in vars(cls).items():
            function = None if name in found else function_of(_plain(member))
            if function is not None and source.home(function.path):
                found[name] = function
    return found


def _plain(member: Any) -> Any:
    if isinstance(member, property):
        return member.fget
    return getattr(member, "__func__", member)


def stores(source: Source, *names: str) -> Iterator[tuple[Function, ast.Attribute, ast.AST]]:
    """Every `self.name = ...` in the given methods (in all that the user wrote, where none is given)."""
    seen: set[ast.AST] = set()
    for function, target, statement in source.stores(*(names or methods(source))):
        if target not in seen:
            seen.add(target)
            yield function, target, statement


def store_of(source: Source, attribute: str, *names: str) -> tuple[Function, ast.AST] | None:
    """The first place where an attribute is set."""
    return next(((f, node) for f, target, node in stores(source, *names) if target.attr == attribute), None)


def place_of(component: Component, attribute: str) -> tuple[Function, ast.AST] | Source:
    """Where a component sets an attribute; its class where that can't be told."""
    source = component.source
    return store_of(source, attribute, *CONSTRUCTION) or store_of(source, attribute) or source


def attribute_of(layer: Any, value: Any) -> str | None:
    """How a layer's own code reaches an object that it holds, such as `self.blocks[0]`."""
    return next((f"self.{item.path}" for item in held(layer) if item.value is value), None)


def name_of(layer: Any, variable: Any) -> str:
    """What the user calls a variable of a layer: the attribute, else the variable's own name."""
    return attribute_of(layer, variable) or variable.name


def parameters_of(function: Function | None) -> list[str]:
    """The names of a method's parameters without the first one."""
    return [] if function is None else function.parameters[1:]


def within(file_node: ast.AST, function: Function, kinds: type[ast.AST] | tuple[type[ast.AST], ...]) -> bool:
    """Whether a node stands inside a statement or expression of some kind, within its function."""
    node = function.file.parents.get(file_node)
    while node is not None and node is not function.node:
        if isinstance(node, kinds):
            return True
        node = function.file.parents.get(node)
    return False


def variables_below(layer: Any) -> list[Any]:
    """Every variable of a layer and of the layers that it tracks, seeds and metrics left out."""
    layers = [layer, *internals.sublayers(layer)]
    unique = {id(v): v for owner in layers for v in internals.own_variables(owner)}
    return list(unique.values())


def listed(names: list[str], most: int = 4) -> str:
    """Names in backticks, the first few of many."""
    shown = ", ".join(f"`{name}`" for name in names[:most])
    return shown + (f" and {len(names) - most} more" if len(names) > most else "")


def is_layer(value: Any) -> bool:
    """Whether a value is a layer that can hold weights; metrics are not."""
    return isinstance(value, keras.layers.Layer)
