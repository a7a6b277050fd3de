from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import is_users
from layerwright.checks.rules.config._saved_parts import where
from layerwright.checks.walk import held


@rule("LW120", "warning", hides=("reload-differs",))
def shared_object_duplicated(lab: Lab) -> Iterator[Finding]:
    """A layer or weight that is shared in two places comes back as two.

    ## What it does
    Compares which attributes hold the same layer or the same weight before and after the layer is saved.

    ## Why is this bad
    The loaded model has twice the weights: tied parts train apart from then on, and what was stored once may be
    missing for the second copy.

    ## Example
    ```python
    class Twice(keras.layers.Layer):
        def __init__(self, first, second, **kwargs):
            super().__init__(**kwargs)
            self.first, self.second = first, second

        def build(self, input_shape):
            for part in (self.first, self.second):
                if not part.built:
                    part.build(input_shape)

        def call(self, x):
            return self.second(self.first(x))

        def get_config(self):
            first, second = self.first.get_config(), self.second.get_config()
            return {**super().get_config(), "first": first, "second": second}

        @classmethod
        def from_config(cls, config):
            parts = {key: layers.Dense.from_config(config[key]) for key in ("first", "second")}
            return cls(**{**config, **parts})
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_shared_object_duplicated")
    class Twice(keras.layers.Layer):
        def __init__(self, shared, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.shared = shared

        def build(self, input_shape):
            if not self.shared.built:
                self.shared.build(input_shape)

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.cast(self.shared(self.shared(x)), x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "shared": keras.saving.serialize_keras_object(self.shared)}

        @classmethod
        def from_config(cls, config):
            shared = keras.saving.deserialize_keras_object(config["shared"])
            return cls(**{**config, "shared": shared})
    ```

    ## Source
    `keras.saving.serialize_keras_object`, which marks shared objects within one config only.
    """
    if not lab.components:
        return
    if lab.loaded.ok:
        first, second = lab.stored.get().layer, lab.loaded.get()
    else:
        first, second = lab.described.get(), lab.revived.get().copy
    there = _places(second)
    for paths in _shared(_places(first)):
        apart = [path for path in paths[1:] if path in there and there[path] is not there.get(paths[0])]
        if apart and paths[0] in there:
            yield lab.finding(
                f"`self.{paths[0]}` and `self.{apart[0]}` are one {_kind(there[paths[0]])}, and two once loaded.",
                expected="one again after loading",
                got="two, each with weights of its own",
                fix="pass the shared object once, and let the layer hand it on.",
                at=where(lab.components[0].source, paths[0].split(".")[0].split("[")[0]),
            )
            return


def _kind(value: Any) -> str:
    return "weight" if isinstance(value, keras.Variable) else "layer"


def _places(layer: Any, prefix: str = "", seen: frozenset[int] = frozenset()) -> dict[str, Any]:
    """Every layer and weight by each path that leads to it, through the user's layers."""
    found: dict[str, Any] = {}
    if layer is None or id(layer) in seen:
        return found
    for item in held(layer):
        path, value = prefix + item.path, item.value
        if isinstance(value, keras.layers.Layer):
            found[path] = value
            if is_users(value) or internals.own_layers(value):
                found |= _places(value, f"{path}.", seen | {id(layer)})
        elif isinstance(value, keras.Variable):
            found[path] = value
    return found


def _shared(places: dict[str, Any]) -> list[list[str]]:
    """The paths that lead to one object, where there are several."""
    by_object: dict[int, list[str]] = defaultdict(list)
    for path, value in places.items():
        by_object[id(value)].append(path)
    return [paths for paths in by_object.values() if len(paths) > 1]
