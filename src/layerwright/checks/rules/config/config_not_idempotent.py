from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import differ
from layerwright.checks.rules.config._saved_parts import where

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
    first, again, second = (lab.attempt(lambda x=x: _config(x)).value for x in (trip.layer, trip.layer, trip.copy))
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
    for key in first or ():
        before, after = (first or {}).get(key), (second or {}).get(key)
        if second is not None and key in second and differ(before, after):
            yield lab.finding(
                f"`{key}` of `{name}` changes with every save and load.",
                expected=f"{_text(before)} in the copy's config too",
                got=f"{_text(before)}, then {_text(after)}",
                fix=f"return from `get_config` what `__init__` takes as `{key}`, and transform it elsewhere.",
                at=where(source, key),
            )
        elif _attribute_differs(trip.layer, trip.copy, key):
            yield lab.finding(
                f"`{name}.get_config()` writes another `{key}` than the layer has.",
                expected=f"{_text(vars(trip.layer)[key])}, which is `self.{key}`",
                got=f"{_text(before)}, which makes it {_text(vars(trip.copy)[key])} in the copy",
                fix=f"return self.{key} from `get_config`.",
                at=where(source, key),
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
