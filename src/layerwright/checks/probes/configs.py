"""Configs: what comes back of a layer after its config went through JSON."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Mapping
from functools import cached_property
from types import FunctionType
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Failure, home_of
from layerwright.checks.probes.bench import SEED, bind
from layerwright.checks.probes.traces import Traces
from layerwright.checks.walk import held

BUILTIN_FUNCTIONS = ("activations", "constraints", "initializers", "losses", "metrics", "regularizers")


@dataclasses.dataclass(frozen=True)
class Revival:
    """What became of the fresh layer's JSON when it was turned back into a layer.

    Attributes:
        copy: The new layer, or None.
        received: The constructor's arguments by name, also where the constructor raised; None where it wasn't
            reached.
        failure: Why there is no new layer.
    """

    copy: Any
    received: Mapping[str, Any] | None
    failure: Failure | None


@dataclasses.dataclass(frozen=True)
class RoundTrip:
    """A layer and what its config made of it.

    Attributes:
        layer: The layer as constructed.
        config: What `get_config` returned.
        text: The serialized layer as JSON, as a file holds it.
        received: The constructor arguments that the new layer was made with, by name.
        copy: The layer that the JSON was turned back into.
        second: The copy's own config.
    """

    layer: Any
    config: Mapping[str, Any]
    text: str
    received: Mapping[str, Any]
    copy: Any
    second: Mapping[str, Any]


class Configs(Traces):
    """Probes that turn the layer into JSON and back."""

    @cached_property
    def described(self) -> Attempt[Any]:
        """The layer whose config is looked at: fresh, or called where `get_config` needs what `build` makes."""

        def probe() -> Any:
            layer = self.made.get().layer
            if (
                not self.attempt(layer.get_config).ok
                and self.called.ok
                and self.attempt(self.called.get().layer.get_config).ok
            ):
                return self.called.get().layer
            return layer

        return self.attempt(probe)

    @cached_property
    def config(self) -> Attempt[Mapping[str, Any]]:
        """What `get_config` returns."""
        return self.attempt(lambda: self.described.get().get_config())

    @cached_property
    def serialized(self) -> Attempt[str]:
        """The layer as JSON, as a file holds it."""

        def probe() -> str:
            self.config.get()
            return json.dumps(keras.saving.serialize_keras_object(self.described.get()))

        return self.attempt(probe)

    def revive(self, layer: Any, text: str | None = None) -> Revival:
        """Turn a layer into JSON (or take its JSON) and back into a layer."""
        cls = type(layer)

        def probe() -> Any:
            saved = json.dumps(keras.saving.serialize_keras_object(layer)) if text is None else text
            return keras.saving.deserialize_keras_object(json.loads(saved), safe_mode=False)

        internals.seed_everything(SEED)
        with self.known_classes(), internals.recording() as record:
            done = self.attempt(probe)
        passed = record.of(done.value) if done.ok else None
        args, kwargs = passed or (record.last(cls) or (None, None, None))[1:]
        received = None if kwargs is None else bind(cls, args or (), kwargs)[0] or dict(kwargs)
        return Revival(done.value, received, done.failure)

    @cached_property
    def revived(self) -> Attempt[Revival]:
        """What became of the layer's JSON; fails only where there is none."""
        return self.attempt(lambda: self.revive(self.described.get(), self.serialized.get()))

    @cached_property
    def recorded(self) -> Attempt[internals.Made]:
        """What every layer of the subject was constructed with, those made by the first call included."""

        def probe() -> internals.Made:
            with internals.recording() as record:
                layer = self.fresh()
                self.attempt(lambda: layer(*self.feed.args, **self.feed.kwargs))
            return record

        return self.attempt(probe)

    @cached_property
    def round_trip(self) -> Attempt[RoundTrip]:
        """The fresh layer through its config and JSON."""
        revival = self.revived.value
        if revival is not None and revival.failure is not None:
            return Attempt(failure=revival.failure)

        def probe() -> RoundTrip:
            revival = self.revived.get()
            received, copy = revival.received or {}, revival.copy
            return RoundTrip(
                self.described.get(), self.config.get(), self.serialized.get(), received, copy, copy.get_config()
            )

        return self.attempt(probe)

    def known_classes(self, **others: type) -> Any:
        """A scope in which every class and function of the user's can be found by its name, registered or not.

        Scopes of custom objects don't nest: the inner one replaces the outer, so `others` come in here.
        """
        layers = [self.made.get().layer, *internals.sublayers(self.made.get().layer)]
        if self.called.ok:
            layers += internals.sublayers(self.called.get().layer)
        values = [*layers, *(item.value for layer in layers for item in held(layer))]
        values += (self.made.get().arguments or {}).values()
        names: dict[str, Any] = {}
        for value in values:
            named = value if isinstance(value, FunctionType) else type(value)
            if self._is_users(named):
                names[named.__name__] = names[keras.saving.get_registered_name(named)] = named
        return keras.saving.CustomObjectScope(names | others)

    def _is_users(self, named: Any) -> bool:
        if isinstance(named, type):
            return named.__module__.split(".")[0] != "keras" and hasattr(named, "get_config")
        # A user's function with the name of one of Keras' own comes back as that one.
        builtin = any(hasattr(getattr(keras, room), named.__name__) for room in BUILTIN_FUNCTIONS)
        return (
            not builtin
            and named.__name__ != "<lambda>"
            and home_of([type(self.made.get().layer)])(named.__code__.co_filename)
        )
