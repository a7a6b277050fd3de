from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import MISSING, Pair, pairs
from layerwright.checks.rules.config._saved_parts import entries, is_object, where
from layerwright.checks.source import Source

SPECIAL = ("__lambda__", "__tensor__", "__numpy__", "__bytes__", "__slice__", "__ellipsis__", "__typespec__")


@rule("LW104", "error", hides=("reload-differs", "config-not-idempotent", "config-json-type", "state-not-saved"))
def config_object_not_deserialized(lab: Lab) -> Iterator[Finding]:
    """An object in the config comes back as a dict.

    ## What it does
    Turns the layer into JSON and back, and compares what both hold: a layer, function, initializer, loss
    or other object that was an argument must not be a dict in the copy.

    ## Why is this bad
    Saving works. Loading raises, or gives a layer that fails at its first call with "'TrackedDict' object is
    not callable".

    ## Example
    ```python
    class Residual(keras.layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def build(self, input_shape):
            self.inner.build(input_shape)

        def call(self, x):
            return x + self.inner(x)

        def get_config(self):
            return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_object_not_deserialized")
    class Residual(keras.layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.inner = inner

        def build(self, input_shape):
            if not self.inner.built:
                self.inner.build(input_shape)

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x + ops.cast(self.inner(x), x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

        @classmethod
        def from_config(cls, config):
            inner = keras.saving.deserialize_keras_object(config["inner"])
            return cls(**{**config, "inner": inner})
    ```

    ## Source
    Keras issue 20167.
    """
    revival, layer = lab.revived.get(), lab.described.get()
    if revival.copy is not None:
        late = (
            {p.path for p in pairs(layer, lab.loaded.value) if not _is_serialized(p.second)} if lab.saved.ok else set()
        )
        both = pairs(layer, revival.copy)
        # `build` may be where the object is made from its dict.
        stale = [p for p in both if _is_serialized(p.second) and _is_live(p.first) and p.path not in late]
        for pair in _outermost(stale):
            yield _finding(lab, pair, f"self.{pair.path} is a {type(pair.second).__name__} in the copy")
        if stale:
            return
    failure = revival.failure or lab.saved.failure
    key = _received_as_dict(lab, revival.received) if failure is not None and _about_a_dict(failure) else None
    if key is not None and failure is not None:
        pair = Pair(key, key, layer, (lab.arguments() or {}).get(key), None)
        yield _finding(lab, pair, f"{failure.kind}: {failure.text.splitlines()[-1][:120]}")


def _finding(lab: Lab, pair: Pair, got: str) -> Finding:
    key, whose = pair.attribute.lstrip("_"), type(pair.owner).__name__
    what = "a function" if hasattr(pair.first, "__code__") else f"a `{type(pair.first).__name__}`"
    source = Source(pair.owner, lab.home)
    write = "write `from_config` and" if source.method("from_config") is None else "in `from_config`,"
    return lab.finding(
        f"`{whose}` gets `{key}` back from its config as a dict, where {what} was given.",
        expected=f"{what} again, made from the config's dict",
        got=got,
        fix=f"{write} deserialize `{key}` with `keras.saving.deserialize_keras_object`.",
        at=where(source, key),
    )


def _is_live(value: Any) -> bool:
    """Whether a value is an object that a dict can't stand for."""
    return not isinstance(value, Mapping | str | int | float | list | tuple | type(None))


def _is_serialized(value: Any) -> bool:
    return isinstance(value, Mapping) and {"class_name", "config"} <= set(value) and value["class_name"] not in SPECIAL


def _outermost(found: list[Pair]) -> Iterator[Pair]:
    shown: set[tuple[int, str]] = set()
    for pair in found:
        if (id(pair.owner), pair.attribute) not in shown:
            shown.add((id(pair.owner), pair.attribute))
            yield pair


def _received_as_dict(lab: Lab, received: Mapping[str, Any] | None) -> str | None:
    """The argument that held an object and arrived as its serialized dict."""
    arguments = lab.arguments() or {}
    for key, value in (received or {}).items():
        if key in ("dtype", "name", "trainable"):
            continue
        inner = [value] if isinstance(value, Mapping) else [v for _, _, v in entries(value)]
        if any(is_object(v) for v in inner) and not _is_serialized(arguments.get(key, MISSING)):
            return key
    return None


def _about_a_dict(failure: Failure) -> bool:
    """Whether a failure is what becomes of a dict where an object was expected."""
    return failure.mentions("dict", "Dict") or (bool(failure.frames) and not failure.mentions("keyword argument"))
