from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import keras

from layerwright.checks.lab import BASE_ARGUMENTS, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import equal
from layerwright.checks.rules.config._pairs import differ
from layerwright.checks.rules.config._saved_parts import where
from layerwright.checks.source import Source

PLAIN = (bool, int, float, str)


@rule("LW108", "warning", hides=("reload-differs", "state-not-saved"))
def config_not_idempotent(lab: Lab) -> Iterator[Finding]:
    """A copy's config differs from the config that the copy was made from.

    ## What it does
    Turns the layer into its config and back, and compares the two configs and the attributes that have the
    name of a key. Two calls of `get_config()` on one layer must agree as well.

    ## Why is this bad
    `__init__` transforms an argument and `get_config()` returns the transformed value: each save and load, and
    each clone, transforms it once more.

    ## Example
    ```python
    class Gain(keras.layers.Layer):
        def __init__(self, rate=0.5, **kwargs):
            super().__init__(**kwargs)
            self.rate = 2 * rate

        def call(self, x):
            return x * self.rate

        def get_config(self):
            return {**super().get_config(), "rate": self.rate}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_not_idempotent")
    class Gain(keras.layers.Layer):
        def __init__(self, rate=0.5, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.rate = rate

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * (2 * self.rate)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "rate": self.rate}
    ```

    ## Source
    Keras issue 19501.
    """
    source = lab.components[0].source if lab.components else None
    if source is None or source.method("get_config") is None:
        return
    trip = lab.round_trip.get()
    first, again, second = (lab.attempt(partial(_config, x)).value for x in (trip.layer, trip.layer, trip.copy))
    name = source.cls.__name__
    if first is not None and again is not None and first != again:
        key = next(k for k in {**first, **again} if first.get(k) != again.get(k))
        yield lab.finding(
            f"Two calls of `{name}.get_config()` on one layer differ in `{key}`.",
            expected="the same config every time",
            got=f"{_text(first.get(key))}, then {_text(again.get(key))}",
            fix="return a new dict made from attributes, and change neither of them in `get_config`.",
            at=where(source, key),
        )
        return
    if first is None or second is None:
        return
    changed = [key for key in first if key in second and differ(first[key], second[key])]
    if changed:
        yield _changes(lab, source, changed, first, second)
        return
    for key in first:
        if _attribute_differs(trip.layer, trip.copy, key):
            yield lab.finding(
                f"`{name}.get_config()` writes another `{key}` than the layer has.",
                expected=f"{_text(vars(trip.layer)[key])}, which is `self.{key}`",
                got=f"{_text(first[key])}, which makes it {_text(vars(trip.copy)[key])} in the copy",
                fix=f"return self.{key} from `get_config`.",
                at=where(source, key),
            )


def _changes(lab: Lab, source: Source, keys: list[str], first: Any, second: Any) -> Finding:
    name, names = source.cls.__name__, ", ".join(f"`{key}`" for key in keys)
    reader = source.method("from_config")
    received = lab.revived.get().received or {}
    own = [key for key in keys if key not in BASE_ARGUMENTS]
    dropped = reader is not None and all(not equal(received.get(key), first[key]) for key in own)
    got = "; ".join(f"{key} {_text(first[key])}, then {_text(second[key])}" for key in keys)
    if dropped and own:
        return lab.finding(
            f"`{name}.from_config` doesn't hand {names} on as the config has them.",
            expected="a copy with the same config",
            got=got,
            fix="make the layer with `cls(**config)`.",
            at=reader,
        )
    return lab.finding(
        f"{names} of `{name}` {'change' if len(keys) > 1 else 'changes'} with every save and load.",
        expected="the same in the copy's config",
        got=got,
        fix=f"return from `get_config` what `__init__` takes as `{keys[0]}`, and transform it elsewhere.",
        at=where(source, keys[0]),
    )


def _config(layer: Any) -> Any:
    return _stripped(json.loads(json.dumps(keras.saving.serialize_keras_object(layer)))["config"])


def _stripped(data: Any) -> Any:
    """Without what is no argument: the shapes that nested layers were built with, and how models were compiled."""
    if isinstance(data, dict):
        left_out = ("build_config", "compile_config", "shared_object_id") if "class_name" in data else ()
        return {key: _stripped(value) for key, value in data.items() if key not in left_out}
    return [_stripped(value) for value in data] if isinstance(data, list) else data


def _attribute_differs(first: Any, second: Any, key: str) -> bool:
    one, two = vars(first).get(key), vars(second).get(key)
    return isinstance(one, PLAIN) and isinstance(two, PLAIN) and type(one) is type(two) and differ(one, two)


def _text(value: Any) -> str:
    text = repr(value)
    return text if len(text) <= 60 else text[:57] + "..."
