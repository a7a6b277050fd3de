"""Layers, variables, seed generators and metrics that come into being while a layer is called."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Callable, Iterator
from types import FrameType
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Frame
from layerwright.checks.lab import Lab
from layerwright.checks.rules._once import once

# Functions of Keras that stand between the user's line and the object that it makes.
CONSTRUCTORS = ("__init__", "__new__", "add_weight", "add_variable", "wrapper")
OWNERS = (keras.layers.Layer, keras.metrics.Metric, keras.random.SeedGenerator)


@dataclasses.dataclass(frozen=True)
class Creation:
    """One object with state that the user's own code made during a call.

    Attributes:
        value: The layer, variable, seed generator or metric.
        at: The user's line.
        layer: The layer in whose call it was made.
        again: Whether it was the second call: what is made once and kept isn't made again.
    """

    value: Any
    at: Frame
    layer: Any
    again: bool

    @property
    def kind(self) -> str:
        """What it is, in a word or two."""
        if isinstance(self.value, keras.Variable):
            return "a weight"
        if isinstance(self.value, keras.random.SeedGenerator):
            return "a SeedGenerator"
        name = type(self.value).__name__
        return f"the metric {name}" if isinstance(self.value, keras.metrics.Metric) else f"the layer {name}"

    @property
    def has_state(self) -> bool:
        """Whether something is lost with it: a layer such as ReLU or Add has nothing."""
        value = self.value
        if not isinstance(value, keras.layers.Layer):
            return True
        if not internals.initialised(value):
            return not internals.is_default(type(value).build)
        return bool(value.variables) or not value.built


@once
def creations(lab: Lab) -> list[Creation]:
    """What three calls of a fresh layer made: two that don't say `training`, and one in training mode."""
    if not lab.made.ok:
        return []
    found: list[Creation] = []
    lab.attempt(lambda: _run(lab, found))
    return [creation for creation in found if creation.has_state]


def _run(lab: Lab, found: list[Creation]) -> None:
    _ = lab.called  # so that what it had to let pass is known
    layer = lab.fresh()
    lab.build(layer)
    kwargs = [lab.feed.kwargs, lab.feed.kwargs, {**lab.feed.kwargs, "training": True}]
    for place, keywords in enumerate(kwargs):
        with internals.creating(_noting(lab.home, found, place > 0)):
            layer(*lab.feed.args, **keywords)


def _noting(home: Callable[[str], bool], found: list[Creation], again: bool) -> Callable[[Any], None]:
    def note(value: Any) -> None:
        made = _by_user(value, sys._getframe(2), home)
        if made is not None:
            found.append(Creation(value, *made, again))

    return note


def _by_user(value: Any, innermost: FrameType, home: Callable[[str], bool]) -> tuple[Frame, Any] | None:
    """The user's line that makes something and the layer whose `call` runs; None where a `build` or constructor makes it."""
    at: Frame | None = None
    for frame in _upwards(innermost):
        name, owner = frame.f_code.co_name, _owner(frame)
        if name in ("build", "__init__") and isinstance(owner, OWNERS) and owner is not value:
            return None
        if home(frame.f_code.co_filename):
            at = at or Frame(frame.f_code.co_filename, frame.f_lineno, name)
        elif at is None and name not in CONSTRUCTORS:
            return None
        if at is not None and name == "call" and isinstance(owner, keras.layers.Layer):
            return at, owner
    return None


def _upwards(innermost: FrameType) -> Iterator[FrameType]:
    frame: FrameType | None = innermost
    while frame is not None:
        yield frame
        frame = frame.f_back


def _owner(frame: FrameType) -> Any:
    first = next(iter(frame.f_code.co_varnames), None)
    return frame.f_locals.get(first) if first and frame.f_code.co_argcount else None
