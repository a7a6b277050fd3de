from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import constructors, sample
from layerwright.checks.rules.config._saved_parts import parts

PLAIN = (str, int, float, bool, type(None))


@rule("LW109", "warning", hides=("reload-differs", "config-not-serializable"))
def auto_config_unsupported(lab: Lab) -> Iterator[Finding]:
    """A layer without `get_config()` takes an argument that Keras can't write into a config by itself.

    ## What it does
    Calls `get_config()` where the class has none of its own. Keras makes one from the constructor's arguments
    as long as they are numbers, text, booleans, None, or lists and dicts of those.

    ## Why is this bad
    The layer trains; saving or cloning the model raises `NotImplementedError`.

    ## Example
    ```python
    class Residual(keras.layers.Layer):
        def __init__(self, inner, **kwargs):
            super().__init__(**kwargs)
            self.inner = inner

        def build(self, input_shape):
            if not self.inner.built:
                self.inner.build(input_shape)

        def call(self, x):
            return x + self.inner(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_auto_config_unsupported")
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
    The error message of `keras.Operation.get_config`.
    """
    for component in parts(lab):
        layer = component.layer
        if isinstance(layer, keras.Model) or not internals.is_default(layer.get_config):
            continue
        failure = lab.attempt(layer.get_config).failure
        if failure is not None and failure.kind == "NotImplementedError":
            yield _finding(lab, component)


def _finding(lab: Lab, component: Component) -> Finding:
    made = lab.attempt(lambda: sample(lab, component)).value
    odd = {} if made is None else {name: value for name, value in made.arguments.items() if not _is_plain(value)}
    init = next(constructors(component.source), None)
    if odd:
        what = ", ".join(f"`{name}` (a {_kind(value)})" for name, value in odd.items())
        message = (
            f"`{component.name}` can't be saved: it has no `get_config()`, and Keras can't write {what} by itself."
        )
        fix = f"write `get_config` with {', '.join(f'`{n}`' for n in odd)} in it, and `from_config` to read it back."
    else:
        message = (
            f"`{component.name}` can't be saved: it has no `get_config()`, and Keras can't name what `*args` took."
        )
        fix = "give the arguments names, or write `get_config` and `from_config`."
    return lab.finding(
        message,
        expected="numbers, text, booleans, None, or lists and dicts of those, where there is no `get_config`",
        got=", ".join(f"{name}={_kind(value)}" for name, value in odd.items()) or "positional arguments without names",
        fix=fix,
        at=init,
    )


def _is_plain(value: object) -> bool:
    try:
        return all(isinstance(leaf, PLAIN) for leaf in keras.tree.flatten(value))
    except Exception:
        return False


def _kind(value: object) -> str:
    if getattr(value, "__name__", "") == "<lambda>":
        return "lambda"
    if isinstance(value, list | tuple | dict):
        inner = next((leaf for leaf in keras.tree.flatten(value) if not isinstance(leaf, PLAIN)), None)
        return f"{type(value).__name__} of {type(inner).__name__}"
    return type(value).__name__
