"""Building from shapes in the forms in which `build` can get them: tuples, lists, nested or not."""

from __future__ import annotations

import ast
import dataclasses
from typing import Any

import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt
from layerwright.checks.feed import Feed
from layerwright.checks.lab import Lab
from layerwright.checks.rules._once import once
from layerwright.checks.rules.build._common import parameters_of
from layerwright.checks.rules.build._pairs import pairs
from layerwright.checks.source import Function, Source


@dataclasses.dataclass(frozen=True)
class Forms:
    """What `build` does with shapes as a file gives them, beside what it does with tuples.

    Attributes:
        lists: Building from lists.
        tuples: Building from tuples.
        differs: What became of the lists otherwise: a path and the shapes of its variables, of both forms.
    """

    lists: Attempt[Any]
    tuples: Attempt[Any]
    differs: tuple[str, list[Any], list[Any]] | None


@once
def forms(lab: Lab) -> Forms | None:
    """Two fresh layers, built from lists and from tuples; None where nothing can be built from shapes."""
    layer = lab.layer
    config = None if layer is None or internals.is_default(type(layer).build) else layer.get_build_config()
    if not lab.called.ok or not config:
        return None
    lists = lab.attempt(lambda: _built(lab, _deep(config, list)))
    tuples = lab.attempt(lambda: _built(lab, _deep(config, tuple)))
    return Forms(lists, tuples, _difference(tuples.value, lists.value))


def _built(lab: Lab, config: Any) -> Any:
    layer = lab.fresh()
    # A model swallows what its `build` raises, so it is called directly where the config is Keras' own.
    if set(config) == {"input_shape"}:
        layer.build(config["input_shape"])
    elif set(config) == {"shapes_dict"}:
        layer.build(**config["shapes_dict"])
    else:
        layer.build_from_config(config)
    return layer


def _deep(value: Any, sequence: type) -> Any:
    if isinstance(value, dict):
        return {key: _deep(inner, sequence) for key, inner in value.items()}
    if isinstance(value, list | tuple):
        return sequence(_deep(inner, sequence) for inner in value)
    return value


def _difference(one: Any, other: Any) -> tuple[str, list[Any], list[Any]] | None:
    if one is None or other is None:
        return None
    for pair in pairs(one, other):
        first = [tuple(v.shape) for v in internals.own_variables(pair.full)]
        second = [] if pair.bare is None else [tuple(v.shape) for v in internals.own_variables(pair.bare)]
        if first != second:
            return pair.path, first, second
    return None


def type_test(source: Source) -> tuple[Function, ast.AST] | None:
    """Where `build` asks whether a shape is a list or a tuple: `isinstance(input_shape, list)`, `type(input_shape) is list`."""
    for function in source.reachable("build"):
        for node in function.walk():
            if (
                isinstance(node, ast.Call)
                and isinstance(node.func, ast.Name)
                and node.func.id in ("isinstance", "type")
            ):
                subject = node.args[0] if node.args else None
                if any(isinstance(n, ast.Name) and n.id in parameters_of(function) for n in ast.walk(subject or node)):
                    return function, node
    return None


def in_build(attempt: Attempt[Any]) -> bool:
    """Whether an attempt failed within the user's `build`."""
    return attempt.failure is not None and any(frame.function == "build" for frame in attempt.failure.frames)


def regrouped(feed: Feed) -> Feed | None:
    """The same call with the tensors of its first argument in a tuple instead of a list, or the other way round."""
    first = feed.args[0] if feed.args else None
    if not isinstance(first, list | tuple) or not all(isinstance(x, np.ndarray) for x in first) or len(first) < 2:
        return None
    other: Any = tuple(first) if isinstance(first, list) else list(first)
    return Feed((other, *feed.args[1:]), feed.kwargs)


def tensor_arguments(feed: Feed) -> int:
    """How many arguments of the call are tensors, a list of tensors counted once."""
    given = [*feed.args, *feed.kwargs.values()]
    return sum(
        isinstance(x, np.ndarray) or (isinstance(x, list | tuple) and any(isinstance(i, np.ndarray) for i in x))
        for x in given
    )
