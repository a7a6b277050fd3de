"""Eager calls: outputs, what changes on the layer, what the sublayers see, rows and sizes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from functools import cached_property
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.feed import Feed, arrays
from layerwright.checks.probes.bench import Bench
from layerwright.checks.walk import held


@dataclasses.dataclass(frozen=True)
class Seen:
    """One call of a sublayer, as the sublayer saw it: `training` after Keras' own resolution, None without one."""

    layer: Any
    training: Any


@dataclasses.dataclass(frozen=True)
class State:
    """What a layer and its sublayers hold at one moment, by `(layer's id, path)`.

    Attributes:
        scalars: Python numbers, strings and booleans.
        tensors: Ids of tensors of the framework.
        lengths: Of lists and dicts.
        variables: Ids of Keras variables.
    """

    scalars: Mapping[tuple[int, str], Any]
    tensors: Mapping[tuple[int, str], int]
    lengths: Mapping[tuple[int, str], int]
    variables: Mapping[tuple[int, str], int]


@dataclasses.dataclass(frozen=True)
class Called:
    """A fresh layer after two eager calls with the subject's inputs.

    Attributes:
        raw: What the first call returned.
        outputs, again: The outputs of both calls.
        states: What the layer held when built, after the first, and after the second call.
        seen: The sublayers' calls during the first.
        owners: The layers by id, to name them.
        losses: How many losses the layer had after the first call.
    """

    layer: Any
    raw: Any
    outputs: list[np.ndarray]
    again: list[np.ndarray]
    states: tuple[State, State, State]
    seen: tuple[Seen, ...]
    owners: Mapping[int, Any]
    losses: int


class Calls(Bench):
    """Probes that call the layer eagerly."""

    @cached_property
    def called(self) -> Attempt[Called]:
        """Two eager calls; `training` is not said."""

        def probe() -> Called:
            layer = self.fresh()
            built: list[State] = []
            with spying(layer, lambda: built.append(self.state(layer))) as seen:
                raw = layer(*self.feed.args, **self.feed.kwargs)
            losses = len(layer.losses)
            first, outputs = self.state(layer), arrays(raw) if raw is not None else []
            again = arrays(layer(*self.feed.args, **self.feed.kwargs)) if raw is not None else []
            owners = {id(owner): owner for owner in [layer, *internals.sublayers(layer)]}
            return Called(
                layer,
                raw,
                outputs,
                again,
                (built[0] if built else first, first, self.state(layer)),
                tuple(seen),
                owners,
                losses,
            )

        if self.made.failure is not None:
            return Attempt(failure=self.made.failure)
        return self.forgiving(probe)

    def build(self, layer: Any) -> None:
        """Build a layer as its first call would, where one input's shape is enough for that."""
        single = len(self.feed.args) == 1 and isinstance(self.feed.args[0], np.ndarray) and not self.feed.kwargs
        if single and not layer.built and not internals.is_default(type(layer).build):
            layer.build(tuple(self.feed.args[0].shape))

    def state(self, layer: Any) -> State:
        """What the user's code put on a layer and its sublayers."""
        scalars, tensors, lengths, variables = {}, {}, {}, {}
        for owner in [layer, *internals.sublayers(layer)]:
            if type(owner).__module__.split(".")[0] == "keras" and owner is not layer:
                continue
            for item in held(owner):
                key = (id(owner), item.path)
                if isinstance(item.value, bool | int | float | str):
                    scalars[key] = item.value
                elif isinstance(item.value, keras.Variable):
                    variables[key] = id(item.value)
                elif isinstance(item.value, keras.KerasTensor) or self.engine.is_tensor(item.value):
                    tensors[key] = id(item.value)
                elif isinstance(item.value, list | dict | set):
                    lengths[key] = len(item.value)
        return State(scalars, tensors, lengths, variables)

    @cached_property
    def inferred(self) -> Attempt[list[np.ndarray]]:
        """The outputs of the called layer in inference mode."""
        return self.attempt(lambda: self.infer(self.called.get().layer))

    @cached_property
    def inference_is_steady(self) -> bool:
        """Whether two calls in inference mode give equal outputs, so that outputs can be compared at all."""
        from layerwright.checks.feed import close

        second = self.attempt(lambda: self.infer(self.called.get().layer))
        return self.inferred.ok and second.ok and close(self.inferred.get(), second.get())

    @cached_property
    def rows(self) -> Attempt[tuple[list[np.ndarray], list[np.ndarray]]]:
        """In inference mode: the first row's outputs in the batch, and alone."""

        def probe() -> tuple[list[np.ndarray], list[np.ndarray]]:
            layer, feed = self.called.get().layer, self.varied
            size = self.need_batch()
            whole, alone = self.infer(layer, feed), self.infer(layer, feed.select(slice(0, 1)))
            if any(y.shape[:1] != (size,) for y in whole):
                raise Skip("the outputs have no batch axis")
            return [y[:1] for y in whole], alone

        return self.attempt(probe)

    @cached_property
    def varied(self) -> Feed:
        """The subject's inputs, floats replaced by random ones where all rows are equal."""
        feed = self.feed
        equal = all(np.array_equal(x[:1], x[1:2]) for x in feed.floats if x.ndim and len(x) > 1)
        return feed.normal() if equal else feed

    def need_batch(self) -> int:
        """The size of the batch; skips where there is none, or fewer than two rows."""
        size = self.feed.rows if self.subject.batched else None
        if size is None:
            raise Skip("the inputs have no common batch axis")
        if size < 2:
            raise Skip("the batch has a single row")
        return size


@contextmanager
def spying(layer: Any, entered: Callable[[], None] | None = None) -> Iterator[list[Seen]]:
    """Record the calls of every sublayer (tracked or held) and the `training` that reaches its `call`.

    Args:
        layer: Whose sublayers are watched.
        entered: Called whenever the layer's own `call` begins: it is built by then.
    """
    seen: list[Seen] = []
    children = {id(c): c for c in internals.sublayers(layer)}
    children |= {id(i.value): i.value for i in held(layer) if isinstance(i.value, keras.layers.Layer)}
    children.pop(id(layer), None)
    for child in children.values():
        _watch(child, lambda child, training: seen.append(Seen(child, training)))
    if entered is not None:
        _watch(layer, lambda *_: entered())
    try:
        yield seen
    finally:
        for watched in [*children.values(), *([layer] if entered is not None else [])]:
            object.__delattr__(watched, "call")


def _watch(layer: Any, note: Callable[[Any, Any], None]) -> None:
    original = layer.call

    def call(*args: Any, **kwargs: Any) -> Any:
        note(layer, kwargs.get("training"))
        return original(*args, **kwargs)

    # Keras tracks what is set on a layer; this must leave no trace.
    object.__setattr__(layer, "call", call)
