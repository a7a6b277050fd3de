"""A tiny training: one step of `fit` at learning rate 0, and what it reports."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.lab import Component
from layerwright.checks.probes.calls import State
from layerwright.checks.rules._once import once
from layerwright.checks.source import Function

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab

STEPS = ("train_step", "test_step")
OVERRIDES = (*STEPS, "compute_loss", "compute_metrics", "compute_loss_and_updates")


@dataclasses.dataclass(frozen=True)
class Trained:
    """A compiled model after one step of `fit` and one of `evaluate` on the same rows.

    Attributes:
        fitted, evaluated: The logs of both.
        losses: What the loss is: in inference mode, and in several calls in training mode.
        doubles: Metrics that share the name `loss`, with their results after `fit`.
        states: What the model held before, after `fit` and `evaluate`, and after both once more.
    """

    model: Any
    fitted: Mapping[str, float]
    evaluated: Mapping[str, float]
    losses: list[float]
    doubles: list[float]
    states: tuple[State, State, State]


def models(lab: Lab) -> Iterator[Component]:
    """The components that are models."""
    return (c for c in lab.components if isinstance(c.layer, keras.Model))


def overrides(component: Component, *methods: str) -> list[Function]:
    """Those of the methods that the user wrote."""
    return [f for f in map(component.source.method, methods) if f is not None]


def attributes(component: Component, *methods: str) -> Iterator[tuple[Function, ast.Attribute]]:
    """Every attribute that the methods reach, in the order of the source."""
    for function in component.source.reachable(*methods):
        for node in function.walk():
            if isinstance(node, ast.Attribute):
                yield function, node


@once
def trained(lab: Lab) -> Attempt[Trained]:
    """One step of `fit` at learning rate 0."""
    return lab.attempt(lambda: _train(lab))


def _train(lab: Lab) -> Trained:
    lab.called.get()
    if len(lab.feed.args) != 1 or lab.feed.kwargs or lab.feed.rows is None:
        raise Skip("the model doesn't take one structure of rows")
    model = lab.fresh()
    if not isinstance(model, keras.Model):
        raise Skip("the subject is not a model")
    x = lab.feed.args[0]
    outputs = model(
        lab.feed.args[0] if not _nested(x) else lab.feed.map(keras.ops.convert_to_tensor).args[0], training=False
    )
    y = keras.tree.map_structure(_target, outputs)
    before = lab.state(model)
    model.compile(optimizer=keras.optimizers.SGD(0.0), loss="mse", run_eagerly=True, jit_compile=False)
    rows = lab.feed.rows

    def fit() -> Mapping[str, list[Any]]:
        history: Mapping[str, list[Any]] = model.fit(x, y, batch_size=rows, epochs=1, shuffle=False, verbose=0).history
        return history

    history = fit()
    fitted = {name: _number(values[-1]) for name, values in history.items()}
    doubles = [_number(m.result()) for m in model.metrics if m.name == "loss"]
    evaluated = model.evaluate(x, y, batch_size=rows, verbose=0, return_dict=True)
    first = lab.state(model)
    if keeps_state(lab):
        fit()
        model.evaluate(x, y, batch_size=rows, verbose=0)
    states = (before, first, lab.state(model))
    losses = [_loss(lab, model, x, y, False), *(_loss(lab, model, x, y, True) for _ in range(8))]
    return Trained(model, fitted, {k: _number(v) for k, v in evaluated.items()}, losses, doubles, states)


def keeps_state(lab: Lab) -> bool:
    """Whether the steps of a model assign attributes of it, or change what attributes hold."""
    return any(c.path == "self" and next(c.source.stores(*OVERRIDES), None) is not None for c in models(lab))


def _number(value: Any) -> float:
    return float(np.mean(np.asarray(keras.ops.convert_to_numpy(value))))


def _target(output: Any) -> np.ndarray:
    shape = tuple(output.shape)
    return np.random.default_rng(5).random(shape).astype("float32") + 1.0


def _loss(lab: Lab, model: Any, x: Any, y: Any, training: bool) -> float:
    outputs = lab.enter(model, training)
    targets = keras.tree.map_structure(keras.ops.convert_to_tensor, y)
    return float(keras.ops.convert_to_numpy(model.compute_loss(x=x, y=targets, y_pred=outputs)))


def _nested(x: Any) -> bool:
    return not isinstance(x, np.ndarray)


def is_functional(layer: Any) -> bool:
    """Whether a model was made from inputs and outputs."""
    return internals.is_functional(layer)
