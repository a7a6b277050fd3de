"""Walking through what a layer holds: its own attributes, containers, and plain helper objects."""

from __future__ import annotations

import dataclasses
import sys
from collections import deque
from collections.abc import Iterator, Mapping
from types import FunctionType, MethodType, ModuleType
from typing import Any

import keras
import numpy as np

from layerwright.checks import engines, internals
from layerwright.checks.attempt import foreign

DEPTH = 5
# TensorFlow notes on an object what it tracks (`_self_unconditional_dependency_names`).
BOOKKEEPING = ("__", "_self_")


@dataclasses.dataclass(frozen=True)
class Held:
    """Something that a layer holds.

    Attributes:
        path: How the user's code reaches it, such as `parts.proj` or `blocks[0]`.
        attribute: The layer's attribute under which it is found.
        value: The object.
        plain: Whether a plain helper object (not a container) stands on the way.
    """

    path: str
    attribute: str
    value: Any
    plain: bool


def own_attributes(layer: Any) -> dict[str, Any]:
    """The attributes that the user's code set on a layer: all but those of a bare one."""
    known = internals.layer_attributes(isinstance(layer, keras.Model))
    everything = {**vars(layer), **engines.current().registered(layer)}
    return {name: value for name, value in everything.items() if name not in known and not name.startswith(BOOKKEEPING)}


def held(layer: Any) -> Iterator[Held]:
    """Everything that a layer holds through containers and plain objects; tracked layers aren't entered."""
    seen: set[int] = {id(layer)}
    waiting = deque(Held(name, name, value, False) for name, value in own_attributes(layer).items())
    while waiting:
        item = waiting.popleft()
        yield item
        value = item.value
        if isinstance(
            value, str | bytes | int | float | bool | np.ndarray | type | ModuleType | FunctionType | type(None)
        ):
            continue
        if id(value) in seen or item.path.count(".") + item.path.count("[") > DEPTH:
            continue
        seen.add(id(value))
        waiting.extend(_inside(item))


def children(layer: Any) -> list[tuple[str, Any]]:
    """Every layer below a layer with the path by which it is reached, tracked ones and others."""
    paths: dict[int, tuple[str, Any]] = {}
    waiting = [("self", layer)]
    while waiting:
        path, owner = waiting.pop(0)
        for item in held(owner):
            if isinstance(item.value, keras.layers.Layer) and id(item.value) not in paths:
                paths[id(item.value)] = (f"{path}.{item.path}", item.value)
                waiting.append(paths[id(item.value)])
    for child in internals.sublayers(layer):
        paths.setdefault(id(child), (getattr(child, "name", type(child).__name__), child))
    paths.pop(id(layer), None)
    return list(paths.values())


def _inside(item: Held) -> Iterator[Held]:
    value = item.value
    if isinstance(value, Mapping):
        for key, inner in list(value.items()):
            yield Held(f"{item.path}[{key!r}]", item.attribute, inner, item.plain)
    elif isinstance(value, list | tuple | set | frozenset | deque):
        for place, inner in enumerate(list(value)):
            yield Held(f"{item.path}[{place}]", item.attribute, inner, item.plain)
    elif isinstance(value, MethodType):
        return
    elif plain(value):
        for name, inner in list(vars(value).items()):
            yield Held(f"{item.path}.{name}", item.attribute, inner, True)


def plain(value: Any) -> bool:
    """Whether a value is an object of the user's own, whose attributes Keras doesn't look into."""
    if isinstance(value, keras.Operation | keras.Variable | keras.KerasTensor | type | ModuleType):
        return False
    if not hasattr(value, "__dict__"):
        return False
    module = sys.modules.get(type(value).__module__)
    file = getattr(module, "__file__", None)
    return type(value).__module__ == "__main__" or (file is not None and not foreign(file))
