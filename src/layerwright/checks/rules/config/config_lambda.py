from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from types import FunctionType
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._saved_parts import entries, parts, serialized, where
from layerwright.checks.source import function_of

HIDES = ("reload-differs", "config-object-not-deserialized", "config-not-serializable", "config-not-idempotent")


@rule("LW105", "error", hides=HIDES)
def config_lambda(lab: Lab) -> Iterator[Finding]:
    """A lambda is part of the config.

    ## What it does
    Looks for lambdas in the config and in its JSON, in nested layers too.

    ## Why is this bad
    Keras saves a lambda as byte code, with a warning. Loading is refused unless `safe_mode=False` is passed,
    and the byte code runs on the very version of Python that wrote it.

    ## Example
    ```python
    class Apply(keras.layers.Layer):
        def __init__(self, fn, **kwargs):
            super().__init__(**kwargs)
            self.fn = fn

        def call(self, x):
            return self.fn(x)

        def get_config(self):
            return {**super().get_config(), "fn": self.fn}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_lambda")
    class Apply(keras.layers.Layer):
        def __init__(self, fn, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.fn = keras.activations.get(fn)

        def call(self, x):
            return self.fn(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "fn": keras.activations.serialize(self.fn)}
    ```

    ## Source
    Keras issue 20167.
    """
    for component in parts(lab):
        for key, function in _lambdas(lab, component).items():
            written = function_of(function) if function is not None else None
            own = component.source.method("get_config") is not None
            yield lab.finding(
                f"`{component.name}` holds a lambda under `{key}` in its config, which Keras refuses to load.",
                expected="a function with a name, registered with Keras",
                got="a lambda" + (f" from line {written.line}" if written is not None else ""),
                fix="write the lambda as a function under `@keras.saving.register_keras_serializable()`.",
                at=where(component.source, key) if own or written is None else written,
            )


def _lambdas(lab: Lab, component: Component) -> dict[str, Any]:
    """The keys of a component's config that hold a lambda, with the lambda itself where it can be reached."""
    found: dict[str, Any] = {}
    layer = component.layer
    config = lab.attempt(layer.get_config)
    given: Mapping[str, Any] = config.value if isinstance(config.value, Mapping) else {}
    if not config.ok and internals.is_default(layer.get_config) and component.path == "self":
        given = lab.arguments() or {}
    for key, value in given.items():
        function = _first_lambda(value)
        if function is not None:
            found[key] = function
    if component.path == "self" and lab.serialized.ok:
        for path, _, value in entries(serialized(lab)):
            if isinstance(value, dict) and _is_code(value) and not _is_in_a_part(lab, path):
                inner = path.removeprefix("config.")
                found.setdefault(inner.split(".")[0].split("[")[0], _of_a_lambda_layer(layer))
    return found


def _is_in_a_part(lab: Lab, path: str) -> bool:
    """Whether a path leads into the config of another part, which is looked at for itself."""
    data = serialized(lab)
    names = {c.name for c in parts(lab) if c.path != "self"}
    for step in re.findall(r"[^.\[\]]+", path):
        data = data[int(step)] if isinstance(data, list) else data[step]
        if isinstance(data, dict) and data.get("class_name") in names:
            return True
    return False


def _of_a_lambda_layer(layer: Any) -> Any:
    """The function of the first `Lambda` layer with a lambda."""
    found = [x.function for x in (layer, *internals.sublayers(layer)) if isinstance(x, keras.layers.Lambda)]
    return next((f for f in found if getattr(f, "__name__", "") == "<lambda>"), None)


def _is_code(value: dict[str, Any]) -> bool:
    """Whether this is how Keras writes a lambda; `activations.serialize` leaves the inner part of it only."""
    code = value.get("value")
    bare = set(value) == {"value"} and isinstance(code, list) and len(code) == 3 and isinstance(code[0], str)
    return value.get("class_name") == "__lambda__" or bare


def _first_lambda(value: Any) -> FunctionType | None:
    if isinstance(value, FunctionType):
        return value if value.__name__ == "<lambda>" else None
    inner = value.values() if isinstance(value, Mapping) else value if isinstance(value, list | tuple) else ()
    return next((f for f in map(_first_lambda, inner) if f is not None), None)
