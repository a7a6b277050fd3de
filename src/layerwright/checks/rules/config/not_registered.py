from __future__ import annotations

from collections.abc import Iterator
from types import FunctionType
from typing import Any

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._pairs import is_users
from layerwright.checks.rules.config._saved_parts import parts
from layerwright.checks.source import function_of
from layerwright.checks.walk import held


@rule("LW115", "note", advice=True)
def not_registered(lab: Lab) -> Iterator[Finding]:
    """The class isn't registered with Keras.

    ## What it does
    Looks up the class, and the user's layers and functions that its config holds, among those registered.

    ## Why is this bad
    A saved model can't be loaded in a new process without `custom_objects`, and `copy.deepcopy(layer)`,
    which goes through Keras' saving, raises "Could not locate class".

    ## Example
    ```python
    class Shift(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + 1.0

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_not_registered")
    class Shift(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + 1.0

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    Keras issue 21046.
    """
    for component in parts(lab):
        cls = type(component.layer)
        if is_users(component.layer) and not _is_registered(cls):
            yield lab.finding(
                f"`{component.name}` isn't registered, so that a new process can't load a model with it.",
                expected='@keras.saving.register_keras_serializable(package="...") above the class',
                got=f"the registered name `{keras.saving.get_registered_name(cls)}`",
                fix='write @keras.saving.register_keras_serializable(package="...") above the class.',
                at=component.source,
            )
    for function in _functions(lab):
        if not _is_registered(function):
            yield lab.finding(
                f"The function `{function.__name__}` is in the config and isn't registered.",
                expected="@keras.saving.register_keras_serializable(package=...) above the function",
                got=f"the registered name `{keras.saving.get_registered_name(function)}`",
                fix='write @keras.saving.register_keras_serializable(package="...") above the function.',
                at=function_of(function),
            )


def _is_registered(named: Any) -> bool:
    name = keras.saving.get_registered_name(named)
    return name != named.__name__ or keras.saving.get_registered_object(name) is named


def _functions(lab: Lab) -> Iterator[FunctionType]:
    """The user's named functions that the config holds."""
    text = lab.serialized.value or ""
    seen: set[int] = set()
    for component in parts(lab):
        for item in held(component.layer):
            value = item.value
            if not isinstance(value, FunctionType) or value.__name__ == "<lambda>" or id(value) in seen:
                continue
            seen.add(id(value))
            if f'"config": "{value.__name__}"' in text and lab.home(value.__code__.co_filename):
                yield value
