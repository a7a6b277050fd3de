"""What Keras keeps of a model's constructor, which is less than it keeps of a layer's."""

from __future__ import annotations

import inspect
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component
from layerwright.checks.rules.config._arguments import Argument, own_arguments

GRAPH = ("inputs", "outputs")


def forgets_arguments(component: Component) -> bool:
    """Whether this is a model whose `get_config` is Keras' own, which doesn't know the constructor's arguments."""
    if not isinstance(component.layer, keras.Model) or component.source.method("get_config") is not None:
        return False
    return not (internals.is_functional(component.layer) and is_graph_like(type(component.layer)))


def is_graph_like(cls: type) -> bool:
    """Whether Keras can make a model of this class from inputs and outputs: it takes any arguments, or just those."""
    kinds = [p.kind for p in inspect.signature(cls.__init__).parameters.values()]  # type: ignore[misc]
    if inspect.Parameter.VAR_POSITIONAL in kinds and inspect.Parameter.VAR_KEYWORD in kinds:
        return True
    return list(inspect.signature(cls.__init__).parameters)[1:4] == [*GRAPH, "name"]  # type: ignore[misc]


def own_model_arguments(component: Component) -> list[Argument]:
    """The arguments of a model's constructor, those of a functional model left out."""
    return [a for a in own_arguments(component.source) if a.name not in GRAPH]


def took_graph(arguments: Any) -> bool:
    """Whether a constructor was given Keras tensors: the ends of a graph that was made outside."""
    return any(isinstance(leaf, keras.KerasTensor) for leaf in keras.tree.flatten(dict(arguments or {})))
