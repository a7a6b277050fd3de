"""Which sublayers are called, and where the user's code mentions an attribute."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.rules._once import once
from layerwright.checks.rules.build._common import methods
from layerwright.checks.source import Function
from layerwright.checks.walk import children, held

SETUP = (
    *("__init__", "build", "get_config", "compute_output_shape", "compute_output_spec", "get_build_config"),
    *("build_from_config", "from_config", "compute_mask", "__repr__"),
)
GENERAL = ("layers", "_layers", "weights", "variables", "trainable_weights", "trainable_variables", "_flatten_layers")


@once
def called_paths(lab: Lab) -> set[str]:
    """The paths of the layers that are called in some probe, in either mode, directly or by their `call`."""
    called = lab.called.get()
    ran: list[Any] = [probe.value for probe in (lab.in_inference, lab.in_training) if probe.value is not None]
    runs: list[tuple[Any, set[int]]] = [(called.layer, {id(s.layer) for s in called.seen})]
    runs += [(r.layer, {id(x.layer) for x in (*r.calls, *r.direct)}) for r in ran]
    return {path for layer, ids in runs for path, child in children(layer) if id(child) in ids}


def is_called(lab: Lab, layer: Any) -> bool:
    """Whether a layer of the called subject, or any layer below it, is called."""
    paths = {id(child): path for path, child in lab.children}
    return any(paths.get(id(part)) in called_paths(lab) for part in [layer, *internals.sublayers(layer)])


def counterpart(lab: Lab, other: Any, layer: Any) -> Any:
    """The layer that has in another instance of the subject the place that this one has in the called one."""
    if layer is lab.layer:
        return other
    paths = {id(child): path for path, child in lab.children}
    return next((child for path, child in children(other) if path == paths.get(id(layer))), None)


@once
def passed_in(lab: Lab) -> set[str]:
    """The paths under which the subject holds what was passed to its constructor."""
    if not lab.made.ok:
        return set()
    given = keras.tree.flatten(list((lab.made.get().arguments or {}).values()))
    return {item.path for item in held(lab.made.get().layer) if any(item.value is g for g in given)}


def mentions(component: Component, attribute: str) -> list[tuple[Function, ast.Attribute]]:
    """Where methods other than those that set the layer up read `self.attribute`."""
    return [
        (function, node)
        for function, node in _attributes(component)
        if node.attr == attribute and isinstance(node.ctx, ast.Load)
    ]


def by_name(component: Component) -> bool:
    """Whether the class reaches attributes in ways that the source doesn't show: by name, or all at once."""
    for name, function in methods(component.source).items():
        if name not in SETUP and any(isinstance(n, ast.Name) and n.id in ("getattr", "vars") for n in function.walk()):
            return True
    return any(
        node.attr in (*GENERAL, "__dict__") and function.resolve(node.value, component.layer) is component.layer
        for function, node in _attributes(component)
    )


def _attributes(component: Component) -> Iterator[tuple[Function, ast.Attribute]]:
    functions = {name: f for name, f in methods(component.source).items() if name not in SETUP}
    reached = component.source.reachable(*functions)
    for function in [
        *functions.values(),
        *(f for f in reached if all(f.node is not g.node for g in functions.values())),
    ]:
        for node in function.walk():
            if isinstance(node, ast.Attribute):
                yield function, node


def decides(function: Function) -> bool:
    """Whether a function takes a branch, so that what it doesn't run now it may run another time."""
    return any(
        isinstance(n, ast.If | ast.IfExp | ast.Break | ast.Continue | ast.Try | ast.While | ast.Match)
        for n in function.walk()
    )
