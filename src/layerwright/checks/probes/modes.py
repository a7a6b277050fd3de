"""Calls in training and in inference mode, as `fit` and `predict` make them, with all that happens on the way down."""

from __future__ import annotations

import dataclasses
import inspect
import sys
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Frame
from layerwright.checks.feed import Feed, arrays, close
from layerwright.checks.probes.calls import State
from layerwright.checks.probes.precision import Precision
from layerwright.checks.walk import children


class _Unsaid:
    """Stands for an argument that was not passed."""

    def __repr__(self) -> str:
        return "UNSAID"


UNSAID: Any = _Unsaid()


@dataclasses.dataclass(eq=False)
class LayerCall:
    """One call of a layer on the way down.

    Attributes:
        layer: The layer.
        given: The `training` that the caller passed, or `UNSAID`.
        training: The `training` that reached its `call`: None where it takes none or there was none.
        args, keywords: What the caller passed.
        parent: The call during which it happened.
        at: The user's line that calls.
    """

    layer: Any
    given: Any
    args: tuple[Any, ...]
    keywords: Mapping[str, Any]
    parent: LayerCall | None
    at: Frame | None
    training: Any = None


@dataclasses.dataclass(frozen=True)
class Draw:
    """One draw from `keras.random`: the seed as it was given, the call during which it happened, the user's line."""

    seed: Any
    call: LayerCall | None
    at: Frame | None


@dataclasses.dataclass(frozen=True)
class Direct:
    """A child whose `call` was used in place of the child itself."""

    layer: Any
    at: Frame


@dataclasses.dataclass(frozen=True)
class Changed:
    """A non-trainable variable that has another value after the call; seeds are left out."""

    variable: Any
    before: np.ndarray
    after: np.ndarray


@dataclasses.dataclass(frozen=True)
class Ran:
    """One call of a built layer in one mode; `states` is what the layer held before and after."""

    layer: Any
    outputs: list[np.ndarray]
    calls: tuple[LayerCall, ...]
    draws: tuple[Draw, ...]
    direct: tuple[Direct, ...]
    changed: tuple[Changed, ...]
    states: tuple[State, State]


class Modes(Precision):
    """Probes that run the layer in one mode and watch."""

    @cached_property
    def home(self) -> Callable[[str], bool]:
        """Says of a file's path whether it holds the user's own code."""
        raise NotImplementedError

    @cached_property
    def in_inference(self) -> Attempt[Ran]:
        """A call of a built layer as `predict` makes it."""
        return self.attempt(lambda: self._ran(self._called_once.get(), False))

    @cached_property
    def in_training(self) -> Attempt[Ran]:
        """A call of the same layer as `fit` makes it."""
        return self.attempt(lambda: self._ran(self._called_once.get(), True))

    @cached_property
    def in_training_again(self) -> Attempt[Ran]:
        """One more, right after."""

        def probe() -> Ran:
            return self._ran(self.in_training.get().layer, True)

        return self.attempt(probe)

    @cached_property
    def _called_once(self) -> Attempt[Any]:
        def probe() -> Any:
            self.called.get()
            layer = self.fresh()
            layer(*self.feed.args, **self.feed.kwargs)
            return layer

        return self.attempt(probe)

    def _ran(self, layer: Any, training: bool) -> Ran:
        before = [keras.ops.convert_to_numpy(v.value) for v in layer.non_trainable_variables]
        held = self.state(layer)
        with watching(layer, self.home) as (calls, draws, direct):
            outputs = arrays(self.enter(layer, training))
        changed = tuple(
            Changed(v, old, new)
            for v, old in zip(layer.non_trainable_variables, before, strict=False)
            if not is_seed(v) and not _same(old, new := keras.ops.convert_to_numpy(v.value))
        )
        return Ran(layer, outputs, tuple(calls), tuple(draws), tuple(direct), changed, (held, self.state(layer)))

    def enter(self, layer: Any, training: bool, feed: Feed | None = None) -> Any:
        """Call a layer or model in one mode, in the way in which Keras does it."""
        feed = self.feed if feed is None else feed
        kwargs = {**feed.kwargs, "training": training}
        if not isinstance(layer, keras.Model) or internals.is_functional(layer):
            return layer(*feed.args, **kwargs)
        if "training" not in inspect.signature(layer.call).parameters:
            kwargs.pop("training")
        if self.engine.name == "jax":
            # Keras' trainer for JAX goes through `stateless_call`, which calls `call` itself: nothing is inherited.
            tensors = feed.map(keras.ops.convert_to_tensor)
            return layer.call(*tensors.args, **{**tensors.kwargs, **kwargs})
        return layer(*feed.args, **kwargs)

    def acts(self, call: LayerCall) -> bool:
        """Whether a layer that was called does something else in training than in inference."""
        feed = Feed(call.args, {k: v for k, v in call.keywords.items() if k != "training"}).map_tensors(_stirred)

        def probe() -> bool:
            still = arrays(call.layer(*feed.args, **feed.kwargs, training=False))
            before = _values(call.layer)
            moving = arrays(call.layer(*feed.args, **feed.kwargs, training=True))
            return not close(still, moving, 1e-6) or not close(before, _values(call.layer), 0.0)

        return bool(self.attempt(probe).value)


@contextmanager
def watching(layer: Any, home: Callable[[str], bool]) -> Iterator[tuple[list[LayerCall], list[Draw], list[Direct]]]:
    """Record every layer's call, every draw, and every use of a child's `call`."""
    calls: list[LayerCall] = []
    draws: list[Draw] = []
    direct: list[Direct] = []
    running: list[LayerCall] = []
    outer, inner = keras.layers.Layer.__call__, keras.Operation.__call__

    def __call__(self: Any, *args: Any, **kwargs: Any) -> Any:
        parent = running[-1] if running else None
        call = LayerCall(self, kwargs.get("training", UNSAID), args, dict(kwargs), parent, frame_above(home))
        calls.append(call)
        running.append(call)
        try:
            return outer(self, *args, **kwargs)
        finally:
            running.pop()

    def resolved(self: Any, *args: Any, **kwargs: Any) -> Any:
        if running and running[-1].layer is self:
            running[-1].training = kwargs.get("training")
        return inner(self, *args, **kwargs)

    def note(seed: Any) -> None:
        draws.append(Draw(seed, running[-1] if running else None, frame_above(home)))

    keras.layers.Layer.__call__, keras.Operation.__call__ = __call__, resolved
    try:
        with internals.drawing(note), _watched(layer, home, direct):
            yield calls, draws, direct
    finally:
        keras.layers.Layer.__call__, keras.Operation.__call__ = outer, inner


@contextmanager
def _watched(layer: Any, home: Callable[[str], bool], direct: list[Direct]) -> Iterator[None]:
    """Note where the user's code uses the `call` of a layer below this one."""
    watched = [child for _, child in children(layer) if "call" not in vars(child)]

    def watch(child: Any) -> None:
        original = child.call

        def call(*args: Any, **kwargs: Any) -> Any:
            frame = sys._getframe(1)
            if home(frame.f_code.co_filename) and frame.f_locals.get("self") is not child:
                direct.append(Direct(child, Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)))
            return original(*args, **kwargs)

        object.__setattr__(child, "call", call)

    for child in watched:
        watch(child)
    try:
        yield
    finally:
        for child in watched:
            object.__delattr__(child, "call")


def frame_above(home: Callable[[str], bool]) -> Frame | None:
    """The innermost line of the user's own code that is running; nothing from before the check began to call."""
    frame = sys._getframe(1)
    while frame is not None and frame.f_code is not Modes.enter.__code__:
        if home(frame.f_code.co_filename):
            return Frame(frame.f_code.co_filename, frame.f_lineno, frame.f_code.co_name)
        frame = frame.f_back  # type: ignore[assignment]
    return None


def is_seed(variable: Any) -> bool:
    """Whether a variable is the state of a seed generator."""
    return tuple(variable.shape) == (2,) and "seed_generator" in variable.name


def _values(layer: Any) -> list[np.ndarray]:
    return [keras.ops.convert_to_numpy(v.value) for v in layer.non_trainable_variables]


def _same(old: np.ndarray, new: np.ndarray) -> bool:
    return np.array_equal(old, new, equal_nan=old.dtype.kind == "f")


def _stirred(x: Any) -> Any:
    """Random numbers in place of a floating tensor: what a layer does must not hide behind zeros or equal rows."""
    if not keras.backend.is_float_dtype(keras.backend.standardize_dtype(x.dtype)):
        return x
    values = np.random.default_rng(0).standard_normal(tuple(x.shape))
    return keras.ops.cast(keras.ops.convert_to_tensor(values.astype("float32")), x.dtype)
