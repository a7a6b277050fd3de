"""What all probes stand on: the subject, its inputs, the framework, and fresh layers."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Failure, Skip
from layerwright.checks.feed import Feed, arrays
from layerwright.errors import SubjectError

if TYPE_CHECKING:
    from layerwright.checks.engines import Engine
    from layerwright.checks.subject import Subject

T = TypeVar("T")
SEED = 7


@dataclasses.dataclass(frozen=True)
class Construction:
    """A fresh layer and what its class was constructed with.

    Attributes:
        arguments: The subject's constructor arguments by name, defaults included, `**kwargs` merged in; None
            where the constructor takes `*args`.
        given: The names of those that were passed.
    """

    layer: Any
    arguments: Mapping[str, Any] | None
    given: frozenset[str]


class Bench:
    """The base of all groups of probes."""

    subject: Subject
    engine: Engine
    feed: Feed
    # What `rebuilt` last passed to the constructor.
    last_arguments: Mapping[str, Any]
    # The failure of `add_weight("w", ...)` as Keras 2 took it; from then on it is accepted, to probe what lies behind.
    legacy_add_weight: Failure | None = None

    def attempt(self, probe: Callable[[], T]) -> Attempt[T]:
        """Run something with the user's code."""
        raise NotImplementedError

    def forgiving(self, probe: Callable[[], T]) -> Attempt[T]:
        """An attempt, and another one where nothing but Keras 2's way of naming a weight stood in its way."""
        first = self.attempt(probe)
        if first.failure is None or not names_weight_first(first.failure):
            return first
        self.legacy_add_weight = self.legacy_add_weight or first.failure
        internals.accept_legacy_add_weight()
        return self.attempt(probe)

    def fresh(self, seed: int = SEED) -> Any:
        """A new layer; equal seeds give equal initial weights."""
        internals.seed_everything(seed)
        layer = self.subject.make()
        if not isinstance(layer, keras.layers.Layer):
            raise SubjectError(
                f"`{self.subject.name}` made a {type(layer).__name__}.",
                expected="a keras.layers.Layer or keras.Model",
                got=type(layer).__name__,
                fix="return a fresh layer from the callable that is given to check.",
            )
        return layer

    @cached_property
    def made(self) -> Attempt[Construction]:
        """A fresh layer that nothing was done with."""

        def probe() -> Construction:
            with internals.recording() as record:
                layer = self.fresh()
            passed = record.of(layer)
            if passed is None:
                return Construction(layer, None, frozenset())
            return Construction(layer, *bind(type(layer), *passed))

        return self.forgiving(probe)

    def rebuilt(self, **changed: Any) -> Any:
        """A new layer of the subject's class, with some constructor arguments changed; nothing else is done to it.

        Raises `Skip` where the arguments aren't known or the constructor doesn't take these names.
        """
        with internals.recording() as record:
            layer = self.fresh()
        passed = record.of(layer)
        if passed is None:
            raise Skip("how the subject was constructed is not known")
        if not accepts(type(layer), changed):
            raise Skip(f"the constructor doesn't take {', '.join(changed)}")
        arguments, given = bind(type(layer), *passed)
        if arguments is None:
            raise Skip("the constructor takes positional arguments without names")
        internals.seed_everything(SEED)
        self.last_arguments = {**{k: v for k, v in arguments.items() if k in given}, **changed}
        return type(layer)(**self.last_arguments)

    def run(self, layer: Any, feed: Feed | None = None, **keywords: Any) -> list[Any]:
        """Call a layer eagerly: its outputs as a flat list of arrays."""
        feed = self.feed if feed is None else feed
        return arrays(layer(*feed.args, **{**feed.kwargs, **keywords}))

    def infer(self, layer: Any, feed: Feed | None = None) -> list[Any]:
        """Call a layer eagerly in inference mode."""
        return self.run(layer, feed, training=False)


def names_weight_first(failure: Failure) -> bool:
    """Whether a failure is that of `add_weight("w", ...)`, or of one of its arguments that Keras 3 dropped."""
    if failure.mentions("`name` must be passed as a keyword argument", "add_weight() takes at most"):
        return True
    return failure.mentions("add_weight()") and failure.mentions("unexpected keyword", "multiple values for argument")


def bind(cls: type, args: tuple[Any, ...], kwargs: Mapping[str, Any]) -> tuple[dict[str, Any] | None, frozenset[str]]:
    """Constructor arguments by name, and the names of those that were passed; None where `*args` hides names."""
    signature = inspect.signature(cls.__init__)  # type: ignore[misc]
    try:
        bound = signature.bind(None, *args, **kwargs)
    except TypeError:
        return None, frozenset()
    variable = [p.name for p in signature.parameters.values() if p.kind is p.VAR_POSITIONAL]
    if any(bound.arguments.get(name) for name in variable):
        return None, frozenset()
    collected = next((p.name for p in signature.parameters.values() if p.kind is p.VAR_KEYWORD), None)
    first = next(iter(signature.parameters), None)
    given = set(bound.arguments) | set(bound.arguments.get(collected, {}) if collected else ())
    bound.apply_defaults()
    names = dict(bound.arguments)
    names |= names.pop(collected, {}) if collected else {}
    for name in [first, *variable]:
        names.pop(name, None) if name else None
    return names, frozenset(given & set(names))


def accepts(cls: type, names: Mapping[str, Any]) -> bool:
    """Whether a constructor takes these keyword arguments."""
    parameters = inspect.signature(cls.__init__).parameters.values()  # type: ignore[misc]
    if any(p.kind is p.VAR_KEYWORD for p in parameters):
        return True
    return set(names) <= {p.name for p in parameters if p.kind in (p.POSITIONAL_OR_KEYWORD, p.KEYWORD_ONLY)}
