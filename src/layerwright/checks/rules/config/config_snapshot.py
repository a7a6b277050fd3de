from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

from layerwright.checks import internals
from layerwright.checks.lab import BASE_ARGUMENTS, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import equal, others
from layerwright.checks.source import Function, Source
from layerwright.checks.walk import own_attributes


@rule("LW106", "warning")
def config_snapshot(lab: Lab) -> Iterator[Finding]:
    """`get_config()` returns a config that was taken when the layer was made.

    ## What it does
    Changes `trainable`, and the attributes that have the name of a key, on a fresh layer, and looks whether
    `get_config()` follows.

    ## Why is this bad
    A layer that was frozen, or whose temperature was annealed, is saved with the values of its construction.

    ## Example
    ```python
    class Amplify(keras.layers.Layer):
        def __init__(self, gain=1.0, **kwargs):
            super().__init__(**kwargs)
            self.gain = gain
            self.config = super().get_config()
            self.config.update({"gain": gain})

        def call(self, x):
            return self.gain * x

        def get_config(self):
            return self.config
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_snapshot")
    class Amplify(keras.layers.Layer):
        def __init__(self, gain=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.gain = gain

        def call(self, x):
            return self.gain * ops.cast(x, self.compute_dtype)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "gain": self.gain}
    ```

    ## Source
    Articles on custom layers, whose `GumbelSoftmaxLayer` keeps `self.config`.
    """
    for component in lab.components[:1]:
        source = component.source
        layer = lab.attempt(lab.fresh).get()
        if source.method("get_config") is None or internals.is_default(layer.get_config):
            continue
        config = lab.attempt(layer.get_config).get()
        if not isinstance(config, Mapping):
            continue
        held = {name: value for name, value in own_attributes(layer).items() if isinstance(value, Mapping)}
        stale = [key for key in config if _is_stale(lab, layer, config, key, held)]
        if stale:
            names = ", ".join(f"`{key}`" for key in stale)
            kept = next((name for name, value in held.items() if set(stale) & set(value)), None)
            yield lab.finding(
                f"`{component.name}.get_config()` doesn't follow {names}: it returns what was taken in `__init__`.",
                expected="the values that the layer has when it is saved",
                got=f"the values in `self.{kept}`" if kept else "the values of the construction",
                fix="build the config in `get_config` from the layer's attributes.",
                at=_taken(source, kept) or source.method("get_config"),
            )


def _is_stale(lab: Lab, layer: Any, config: Mapping[str, Any], key: str, held: Mapping[str, Mapping[str, Any]]) -> bool:
    """Whether a key of the config keeps its value when the attribute of that name changes."""
    if key == "trainable":
        before = layer.trainable
        layer.trainable = not before
        after = lab.attempt(layer.get_config).value
        layer.trainable = before
        return isinstance(after, Mapping) and after.get(key) == config[key] == before
    value = vars(layer).get(key)
    if (
        key in BASE_ARGUMENTS
        or key not in vars(layer)
        or not any(key in kept for kept in held.values())
        or not equal(value, config[key])
    ):
        return False
    for other in others(value)[:1]:
        vars(layer)[key] = other
        after = lab.attempt(layer.get_config).value
        vars(layer)[key] = value
        return isinstance(after, Mapping) and equal(after.get(key), config[key])
    return False


def _taken(source: Source, name: str | None) -> tuple[Function, ast.AST] | None:
    """The line on which the snapshot was stored."""
    if name is None:
        return None
    for function, target, statement in source.stores("__init__", "build"):
        if target.attr == name:
            return function, statement
    return None
