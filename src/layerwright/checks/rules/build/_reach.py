"""Everything that a component's code can reach of layers and variables, in the places where Keras doesn't look."""

from __future__ import annotations

import ast
import dataclasses
import functools
from collections.abc import Iterable, Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any, Literal

import keras
import numpy as np

from layerwright.checks.lab import Component
from layerwright.checks.rules.build._common import place_of
from layerwright.checks.source import UNKNOWN, Function, Source
from layerwright.checks.walk import held, plain

How = Literal["container", "object", "function", "class", "name", "default"]


@dataclasses.dataclass(frozen=True)
class Reached:
    """An object that a component's code can reach.

    Attributes:
        path: How the code writes it, such as `self.blocks[0]`.
        root: What it is found under: an attribute, or a name.
        value: The object.
        how: What holds it: a container or the layer itself, an object of the user's own class, a function (a
            closure, `functools.partial`), the class, a name outside the class, or an argument's default.
        holder: The object that holds it, where `how` says so.
        at: The user's line, for what isn't found under an attribute.
    """

    path: str
    root: str
    value: Any
    how: How
    holder: Any = None
    at: tuple[Function, ast.AST] | Source | None = None


def reached(component: Component) -> Iterator[Reached]:
    """What a component holds in attributes, and what its class and its methods refer to besides."""
    seen: set[int] = set()
    for found in (*_attributes(component), *_class(component), *_names(component)):
        if id(found.value) not in seen:
            seen.add(id(found.value))
            yield found


def _attributes(component: Component) -> Iterator[Reached]:
    for item in held(component.layer):
        path = f"self.{item.path}"
        holder = _plain_holder(component.layer, item.path) if item.plain else None
        yield Reached(path, item.attribute, item.value, "object" if item.plain else "container", holder)
        for inner in _hidden(item.value):
            yield Reached(path, item.attribute, inner, "function" if callable(item.value) else "container", item.value)


def _plain_holder(layer: Any, path: str) -> Any:
    """The last object of the user's own on the way to what lies under a path."""
    items = [item for item in held(layer) if plain(item.value) and path.startswith(item.path) and path != item.path]
    return max(items, key=lambda item: len(item.path)).value if items else None


def _hidden(value: Any) -> Iterator[Any]:
    """What stands in a closure, a partial function, a bound method, an array of objects."""
    if isinstance(value, FunctionType):
        for cell in value.__closure__ or ():
            try:
                yield from _spread(cell.cell_contents)
            except ValueError:
                continue
        yield from _spread(value.__defaults__ or ())
    elif isinstance(value, functools.partial):
        for part in (value.func, *value.args, *value.keywords.values()):
            yield from _spread(part)
            yield from _hidden(part) if isinstance(part, FunctionType | MethodType) else ()
    elif isinstance(value, MethodType):
        yield value.__self__
    elif isinstance(value, np.ndarray) and value.dtype == object:
        yield from value.ravel().tolist()


def _spread(value: Any) -> Iterator[Any]:
    """A value, or what a plain container holds."""
    if isinstance(value, Mapping):
        yield from value.values()
    elif isinstance(value, list | tuple | set):
        yield from value
    else:
        yield value


def _class(component: Component) -> Iterator[Reached]:
    for cls in component.source.cls.__mro__:
        if cls.__module__.split(".")[0] in ("keras", "builtins") or issubclass(keras.layers.Layer, cls):
            continue
        for name, member in list(vars(cls).items()):
            if isinstance(member, FunctionType | type | property | staticmethod | classmethod) or name.startswith("__"):
                continue
            for inner in _spread(member):
                yield Reached(f"self.{name}", name, inner, "class", cls, _class_line(component.source, name))


def _class_line(source: Source, name: str) -> tuple[Function, ast.AST] | Source:
    for statement in source.node.body if source.node is not None else ():
        if isinstance(statement, ast.Assign) and any(
            isinstance(t, ast.Name) and t.id == name for t in statement.targets
        ):
            method = next((f for f in map(source.method, ("call", "__init__", "build")) if f is not None), None)
            return source if method is None else (method, statement)
    return source


def _names(component: Component) -> Iterator[Reached]:
    """Names of the module or of an enclosing function that `call` uses, and defaults of arguments."""
    source = component.source
    for function in source.reachable("call"):
        for default in (*(_defaults(function.live)),):
            yield Reached(function.name, function.name, default, "default", None, (function, function.node))
        for node in function.walk():
            if isinstance(node, ast.Name) and isinstance(node.ctx, ast.Load):
                value = function.resolve(node, source.layer)
                if value is UNKNOWN or isinstance(value, ModuleType | type) or value is source.layer:
                    continue
                for inner in _spread(value):
                    yield Reached(node.id, node.id, inner, "name", None, (function, node))


def _defaults(live: FunctionType | MethodType | None) -> Iterable[Any]:
    function = getattr(live, "__func__", live)
    return (
        *(getattr(function, "__defaults__", None) or ()),
        *(getattr(function, "__kwdefaults__", None) or {}).values(),
    )


def line_of(component: Component, found: Reached) -> tuple[Function, ast.AST] | Source:
    """Where the user's code puts something where Keras doesn't look."""
    if found.at is not None:
        return found.at
    return _item_store(component, found.root) or place_of(component, found.root)


def _item_store(component: Component, attribute: str) -> tuple[Function, ast.AST] | None:
    """The first `self.attribute[...] = ...` or `self.attribute.name = ...`."""
    source = component.source
    for function in source.reachable("__init__", "build"):
        for node in function.walk():
            targets = node.targets if isinstance(node, ast.Assign) else []
            for target in targets:
                if isinstance(target, ast.Subscript | ast.Attribute) and isinstance(target.value, ast.Attribute):
                    owner = target.value
                    if owner.attr == attribute and function.resolve(owner.value, source.layer) is source.layer:
                        return function, node
    return None
