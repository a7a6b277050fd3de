from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping
from functools import partial
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._saved_parts import entries, serialized, where
from layerwright.checks.source import Source
from layerwright.checks.walk import held

NOT_VALUES = ("class_name", "module", "registered_name", "name", "dtype")


@rule(
    "LW117",
    "error",
    hides=("reload-differs", "config-object-not-deserialized", "not-registered", "config-not-idempotent"),
)
def activation_not_reloadable(lab: Lab) -> Iterator[Finding]:
    """A function of the framework is saved by its name, and Keras finds none, or another one, under it.

    ## What it does
    Takes every function in the config that isn't the user's own, reads it back the way a file is read, and
    compares the two on some numbers.

    ## Why is this bad
    `tf.nn.softmax` is saved as `softmax_v2`, `jnp.tanh` as a `PjitFunction`: saving works, loading raises.
    `jax.nn.gelu` comes back as `keras.activations.gelu`, which computes something else.

    ## Example
    ```python
    class Bent(keras.layers.Layer):
        def __init__(self, activation=ops.sin, **kwargs):
            super().__init__(**kwargs)
            self.activation = keras.activations.get(activation)

        def call(self, x):
            return self.activation(x)

        def get_config(self):
            return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_activation_not_reloadable")
    class Bent(keras.layers.Layer):
        def __init__(self, activation="tanh", **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.activation = keras.activations.get(activation)

        def call(self, x):
            return self.activation(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}
    ```

    ## Known limits
    A function whose result needs more than one argument is compared by whether it can be read back only.

    ## Source
    Keras issue 20167.
    """
    data = serialized(lab)
    objects = [value for _, _, value in entries(data) if isinstance(value, dict)]
    names = {
        value for path, _, value in entries(data) if isinstance(value, str) and path.split(".")[-1] not in NOT_VALUES
    }
    seen: set[tuple[int, str]] = set()
    for owner, attribute, function in _functions(lab):
        fault = _fault(lab, function, objects, names)
        if fault is None or (id(owner), attribute) in seen:
            continue
        seen.add((id(owner), attribute))
        called = f"{getattr(function, '__module__', None) or type(function).__module__}.{function.__name__}"
        yield lab.finding(
            f"`{attribute}` of `{type(owner).__name__}` is `{called}`, which Keras saves and can't read back.",
            expected="the same function after loading",
            got=fault,
            fix="pass one of keras.activations by its name, or a function of your own that is registered with Keras.",
            at=where(Source(owner, lab.home), attribute) if owner is lab.described.get() else None,
        )


def _functions(lab: Lab) -> Iterator[tuple[Any, str, Any]]:
    """Functions that aren't the user's own, in the layer and below: the owner, its attribute, the function."""
    layer = lab.described.get()
    for owner in (layer, *internals.sublayers(layer)):
        for item in held(owner):
            value = item.value
            if not callable(value) or isinstance(value, type | keras.Operation) or not hasattr(value, "__name__"):
                continue
            code = getattr(value, "__code__", None)
            theirs = hasattr(value, "get_config") or (code is not None and lab.home(code.co_filename))
            if not theirs or _shadows(value):
                yield owner, item.attribute, value


def _shadows(function: Any) -> bool:
    """Whether a function of the user's has the name of one of Keras' activations and isn't registered."""
    name = getattr(function, "__name__", "")
    return hasattr(keras.activations, name) and keras.saving.get_registered_name(function) == name


def _fault(lab: Lab, function: Any, objects: list[dict[str, Any]], names: set[str]) -> str | None:
    """What becomes of a function in the file, where that isn't the function; None where it isn't in the file."""
    saved = lab.attempt(lambda: json.loads(json.dumps(keras.saving.serialize_keras_object(function)))).value
    read: Callable[[], Any]
    if isinstance(saved, Mapping) and saved in objects:
        read = lambda: keras.saving.deserialize_keras_object(saved)  # noqa: E731
    elif function.__name__ in names:
        read = lambda: keras.activations.get(function.__name__)  # noqa: E731
    else:
        return None
    back = lab.attempt(read)
    if back.failure is not None:
        return back.failure.summary.split(". ")[0]
    if back.value is function or _agree(lab, function, back.value):
        return None
    return f"another function, keras.activations.{getattr(back.value, '__name__', '?')}"


def _agree(lab: Lab, first: Any, second: Any) -> bool:
    """Whether two functions give the same numbers; true where either doesn't take a tensor."""
    x = keras.ops.convert_to_tensor(np.linspace(-4.0, 4.0, 33, dtype="float32").reshape(3, 11))
    one, two = (lab.attempt(partial(_applied, f, x)).value for f in (first, second))
    if one is None or two is None:
        return True
    return one.shape == two.shape and bool(np.allclose(one, two, atol=1e-4, equal_nan=True))


def _applied(function: Any, x: Any) -> np.ndarray:
    return np.asarray(keras.ops.convert_to_numpy(function(x)))
