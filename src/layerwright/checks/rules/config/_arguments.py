"""Constructor arguments: which ones a class takes, other values for them, and layers made with those."""

from __future__ import annotations

import ast
import dataclasses
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Skip
from layerwright.checks.lab import BASE_ARGUMENTS, Component, Lab
from layerwright.checks.probes.bench import accepts, bind
from layerwright.checks.source import Function, Source, function_of

# Taken by `Layer` itself; not all of them are part of its config.
OF_THE_BASE = (*BASE_ARGUMENTS, "activity_regularizer", "autocast")
OLD = ("input_shape", "input_dim", "batch_size", "batch_input_shape", "weights")


@dataclasses.dataclass(frozen=True)
class Argument:
    """An argument that a constructor of the user's takes.

    Attributes:
        required: Whether it has no default.
        init: The constructor.
        node: Where it stands: the parameter, or `kwargs.pop("name")`.
    """

    name: str
    required: bool
    init: Function
    node: ast.AST


@dataclasses.dataclass(frozen=True)
class Sample:
    """A layer and how it was constructed.

    Attributes:
        arguments: By name, defaults included.
        given: The names of those that were passed.
    """

    layer: Any
    arguments: Mapping[str, Any]
    given: frozenset[str]

    def again(self, **changed: Any) -> Any:
        """A new one, with some arguments changed; raises `Skip` where the constructor doesn't take them."""
        cls = type(self.layer)
        if not accepts(cls, changed):
            raise Skip(f"the constructor doesn't take {', '.join(changed)}")
        return cls(**{**{k: v for k, v in self.arguments.items() if k in self.given}, **changed})


def sample(lab: Lab, component: Component) -> Sample | None:
    """How a component was constructed; None where that isn't known."""
    if component.path == "self":
        made = lab.made.get()
        return None if made.arguments is None else Sample(made.layer, made.arguments, made.given)
    found = lab.recorded.value.last(type(component.layer)) if lab.recorded.value is not None else None
    if found is None:
        return None
    arguments, given = bind(type(found[0]), found[1], found[2])
    return None if arguments is None else Sample(found[0], arguments, given)


def own_arguments(source: Source) -> list[Argument]:
    """The arguments of the constructors that the user wrote, those of `Layer` itself left out, each once."""
    found: dict[str, Argument] = {}
    for init in constructors(source):
        for argument in (*parameters(init), *_popped(init)):
            if argument.name not in OF_THE_BASE:
                found.setdefault(argument.name, argument)
    return list(found.values())


def constructors(source: Source) -> Iterator[Function]:
    """`__init__` as the user wrote it, and those of the base classes that its `**kwargs` reach."""
    for cls in source.cls.__mro__:
        init = function_of(vars(cls).get("__init__"))
        if init is None:
            continue
        if not source.home(init.path):
            return
        yield init
        if init.node.args.kwarg is None:
            return


def parameters(init: Function) -> Iterator[Argument]:
    """The named parameters of a constructor, `self` left out."""
    arguments = init.node.args
    positional = [*arguments.posonlyargs, *arguments.args][1:]
    optional = len(arguments.defaults)
    for place, parameter in enumerate(positional):
        yield Argument(parameter.arg, place < len(positional) - optional, init, parameter)
    for parameter, default in zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True):
        yield Argument(parameter.arg, default is None, init, parameter)


def _popped(init: Function) -> Iterator[Argument]:
    """Arguments that are taken out of `**kwargs`: `kwargs.pop("units", 3)`, `kwargs["units"]`."""
    collected = init.node.args.kwarg
    for node in init.walk() if collected is not None else ():
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.args:
            value, key, required = node.func.value, node.args[0], node.func.attr == "pop" and len(node.args) == 1
            if node.func.attr not in ("pop", "get"):
                continue
        elif isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Load):
            value, key, required = node.value, node.slice, True
        else:
            continue
        named = isinstance(value, ast.Name) and collected is not None and value.id == collected.arg
        if named and isinstance(key, ast.Constant) and isinstance(key.value, str) and key.value not in OLD:
            yield Argument(key.value, required, init, node)


def takes(cls: type, name: str) -> bool:
    """Whether a constructor takes a keyword, by name or in its `**kwargs`."""
    return accepts(cls, {name: None})


def default(cls: type, name: str) -> Any:
    """The default of a constructor's parameter; `inspect.Parameter.empty` where it has none."""
    parameter = inspect.signature(cls.__init__).parameters.get(name)  # type: ignore[misc]
    return inspect.Parameter.empty if parameter is None else parameter.default


def others(value: Any) -> list[Any]:
    """Values that could as well be passed in place of one, the likeliest first."""
    if isinstance(value, bool):
        return [not value]
    if isinstance(value, int):
        return [value + 1, value + 2]
    if isinstance(value, float):
        return [0.25 + 0.5 * value if 0 <= value <= 1 else 2.0 * value + 1.0, value + 1.0]
    if isinstance(value, str):
        return [*_like(value), value + "_"]
    if isinstance(value, tuple | list) and value and all(isinstance(v, int | float) for v in value):
        return [type(value)(others(v)[0] for v in value)]
    return [2, 0.5] if value is None else []


def _like(value: str) -> list[str]:
    pairs = {"same": "valid", "valid": "same", "sum": "mean", "mean": "sum", "zeros": "ones", "ones": "zeros"}
    if value in pairs:
        return [pairs[value]]
    if hasattr(keras.activations, value):
        return ["tanh" if value != "tanh" else "relu"]
    return ["he_normal", "zeros"] if hasattr(keras.initializers, value) else []


def equal(first: Any, second: Any) -> bool:
    """Whether two values of an argument are the same, JSON's changes of type aside."""
    if isinstance(first, np.ndarray) or isinstance(second, np.ndarray):
        return np.shape(first) == np.shape(second) and bool(np.all(np.asarray(first) == np.asarray(second)))
    if isinstance(first, tuple | list) and isinstance(second, tuple | list):
        return len(first) == len(second) and all(map(equal, first, second))
    if isinstance(first, float) and isinstance(second, float) and first != first:
        return second != second
    try:
        return bool(first is second or first == second)
    except Exception:
        return False
