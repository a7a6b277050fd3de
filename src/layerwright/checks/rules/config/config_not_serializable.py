from __future__ import annotations

import json
from collections.abc import Iterator
from functools import partial
from typing import Any

import keras

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._saved_parts import parts, where


@rule("LW127", "error", hides=("reload-differs", "config-missing-arg", "config-no-super"))
def config_not_serializable(lab: Lab) -> Iterator[Finding]:
    """`get_config()` raises, or returns what can't be written as JSON.

    ## What it does
    Calls `get_config()` of a fresh and of a called layer, and writes what it returns as JSON.

    ## Why is this bad
    The model trains, and can't be saved.

    ## Example
    ```python
    class Pick(keras.layers.Layer):
        def __init__(self, columns=(0, 1), **kwargs):
            super().__init__(**kwargs)
            self.columns = set(columns)

        def call(self, x):
            return ops.take(x, sorted(self.columns), axis=-1)

        def get_config(self):
            return {**super().get_config(), "columns": self.columns}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_not_serializable")
    class Pick(keras.layers.Layer):
        def __init__(self, columns=(0, 1), **kwargs):
            super().__init__(**kwargs)
            self.columns = sorted(set(columns))

        def call(self, x):
            return ops.take(ops.cast(x, self.compute_dtype), self.columns, axis=-1)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], len(self.columns))

        def get_config(self):
            return {**super().get_config(), "columns": self.columns}
    ```

    ## Source
    `keras.saving.serialize_keras_object`.
    """
    for component in parts(lab):
        if component.source.method("get_config") is not None:
            yield from _faults(lab, component)


def _faults(lab: Lab, component: Component) -> Iterator[Finding]:
    name, config = component.name, lab.attempt(component.layer.get_config)
    if config.failure is not None:
        yield _raises(lab, name, config.failure)
        return
    if not isinstance(config.get(), dict):
        yield lab.finding(
            f"`{name}.get_config()` returns a {type(config.get()).__name__}.",
            expected="a dict with the constructor's arguments",
            got=type(config.get()).__name__,
            fix="return {**super().get_config(), ...}.",
            at=component.source.method("get_config"),
        )
        return
    for key, value in config.get().items():
        failure = lab.attempt(partial(_json, value)).failure
        if failure is not None and not _is_nested(lab, component, value):
            yield lab.finding(
                f"`{name}.get_config()` returns a {type(value).__name__} under `{key}`, which JSON can't hold.",
                expected="numbers, text, booleans, None, lists, dicts with text as keys, and serialized Keras objects",
                got=failure.summary,
                fix=f"return what `__init__` takes as `{key}` in a form that JSON has.",
                at=where(component.source, key),
            )
            return


def _is_nested(lab: Lab, component: Component, value: Any) -> bool:
    """Whether a value is a layer whose own config is at fault: that one is reported."""
    inner = [
        c for c in lab.components if c is not component and any(c.layer is leaf for leaf in keras.tree.flatten(value))
    ]
    return any(not lab.attempt(partial(_json, c.layer)).ok for c in inner)


def _json(value: Any) -> str:
    if isinstance(value, keras.Variable):
        # Some backends would write its value, so that a tensor comes back.
        raise TypeError("a weight is no argument")
    return json.dumps(keras.saving.serialize_keras_object(value))


def _raises(lab: Lab, name: str, failure: Failure) -> Finding:
    return lab.finding(
        f"`{name}.get_config()` raises {failure.kind}.",
        expected="a dict with the constructor's arguments",
        got=failure.summary,
        fix="store every argument in `__init__` under the name that `get_config` reads."
        if failure.kind == "AttributeError"
        else "return the constructor's arguments from `get_config`, and nothing that must be computed.",
        at=failure,
    )
