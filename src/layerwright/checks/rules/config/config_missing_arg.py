from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.probes.configs import Revival
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import Argument, Sample, default, equal, others, own_arguments, sample
from layerwright.checks.rules.config._models import forgets_arguments
from layerwright.checks.rules.config._pairs import MISSING
from layerwright.checks.rules.config._saved_parts import parts

NEEDLESS = ("weights", "flash_attention")


@rule("LW101", "warning", hides=("reload-differs",))
def config_missing_arg(lab: Lab) -> Iterator[Finding]:
    """A constructor argument is missing from `get_config()`.

    ## What it does
    Compares the arguments of `__init__` with the keys that `get_config()` returns; a layer is made with another
    value of each argument that has no key, and its copy is looked at. A required argument that is missing is
    an error: the layer can't be loaded. An optional one is a warning: the loaded layer has the default instead
    of the value that was given.

    ## Why is this bad
    Saving works, loading works, and the loaded model computes something else. Nothing is said.

    ## Example
    ```python
    class LeakyScale(keras.layers.Layer):
        def __init__(self, slope=0.1, **kwargs):
            super().__init__(**kwargs)
            self.slope = slope

        def call(self, x):
            return ops.where(x > 0, x, self.slope * x)

        def get_config(self):
            return super().get_config()
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_missing_arg")
    class LeakyScale(keras.layers.Layer):
        def __init__(self, slope=0.1, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.slope = slope

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.where(x > 0, x, self.slope * x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)

        def get_config(self):
            return {**super().get_config(), "slope": self.slope}
    ```

    ## Known limits
    Initial values of weights (`weights`, an array, what goes into a `Constant` initializer) come back with the
    saved weights, so that they may be missing; so may `flash_attention`, which is a switch of the process.

    ## Source
    Keras issue 19501.
    """
    for component in parts(lab):
        layer = component.layer
        if internals.is_default(layer.get_config) or not isinstance(lab.attempt(layer.get_config).value, dict):
            continue
        if forgets_arguments(component):
            continue
        made = lab.attempt(partial(sample, lab, component)).value
        for argument in own_arguments(component.source):
            lost = _lost(lab, component, made, argument)
            if lost is not None:
                yield _finding(lab, component, argument, lost)


def _finding(lab: Lab, component: Component, argument: Argument, lost: str) -> Finding:
    name, written = argument.name, component.source.method("get_config")
    effect = "the saved layer can't be loaded" if argument.required else "the loaded layer gets the default"
    whose = f"`{component.name}.get_config()`" if written else f"`{component.name}` inherits a `get_config()` that"
    attribute = name if hasattr(component.layer, name) else f"_{name}" if hasattr(component.layer, f"_{name}") else name
    line = f'"{name}": {_written(getattr(component.layer, attribute, None), attribute)}'
    layer = isinstance(getattr(component.layer, attribute, None), keras.layers.Layer)
    also = ", and make a layer of it again in `from_config`" if layer else ""
    return lab.finding(
        f"{whose} leaves out the argument `{name}`, so that {effect}.",
        expected=f"a key `{name}`",
        got=lost,
        fix=f"add {line} to what `get_config` returns{also}."
        if written
        else f"write `get_config` and return {{**super().get_config(), {line}}}{also}.",
        at=written or (argument.init, argument.node),
        severity="error" if argument.required else "warning",
    )


def _written(value: Any, attribute: str) -> str:
    """What goes into the config: plain values as they are, functions and Keras' objects serialized."""
    of_keras = isinstance(value, keras.Operation | keras.Initializer | keras.Regularizer | keras.constraints.Constraint)
    serialized = callable(value) or of_keras
    return f"keras.saving.serialize_keras_object(self.{attribute})" if serialized else f"self.{attribute}"


def _lost(lab: Lab, component: Component, made: Sample | None, argument: Argument) -> str | None:
    """What shows that an argument doesn't come back; None where it does, or where it needn't."""
    name, config = argument.name, lab.attempt(component.layer.get_config).get()
    if name in config or name in NEEDLESS or not _used(argument) or _is_initial_value(component, made, argument):
        return None
    keys = "keys " + ", ".join(f"`{key}`" for key in sorted(config)) if config else "an empty config"
    mentioned = any(
        isinstance(n, ast.Constant) and n.value == name
        for f in component.source.reachable("get_config")
        for n in f.walk()
    )
    value = made.arguments.get(name, MISSING) if made is not None else MISSING
    if made is None or (mentioned and value is None):
        return None if mentioned else keys
    changed = _changed(lab, made, argument, value)
    if changed is None:
        return None if mentioned else keys
    layer, given = changed
    if name in lab.attempt(layer.get_config).get():
        return None
    revival = lab.revive(layer)
    if revival.copy is not None and _came_back(layer, revival, name, given):
        return None
    if revival.copy is None and revival.received is not None and equal(revival.received.get(name, MISSING), given):
        return None
    return keys


def _changed(lab: Lab, made: Sample, argument: Argument, value: Any) -> tuple[Any, Any] | None:
    """A layer that was constructed with another value than the default, and that value."""
    name = argument.name
    usual = default(type(made.layer), name)
    if argument.required or (name in made.given and not equal(value, usual)):
        return made.layer, value
    for other in others(None if value is MISSING else value):
        done = lab.attempt(partial(made.again, **{name: other}))
        if done.ok and lab.attempt(done.get().get_config).ok:
            return done.get(), other
    return None


def _came_back(layer: Any, revival: Revival, name: str, given: Any) -> bool:
    if equal((revival.received or {}).get(name, MISSING), given):
        return True
    for attribute in (name, f"_{name}"):
        if attribute in vars(layer) and attribute in vars(revival.copy):
            return equal(vars(layer)[attribute], vars(revival.copy)[attribute])
    return False


def _used(argument: Argument) -> bool:
    named = (isinstance(n, ast.Name) and n.id == argument.name for n in argument.init.walk())
    return not isinstance(argument.node, ast.arg) or any(named)


def _is_initial_value(component: Component, made: Sample | None, argument: Argument) -> bool:
    """Whether an argument holds values that a weight starts from: they come back with the weights."""
    value = None if made is None else made.arguments.get(argument.name)
    values = value if isinstance(value, list | tuple) else [value]
    if values and all(hasattr(v, "shape") for v in values):
        return bool(component.layer.weights)
    for function in component.source.reachable("__init__", "build"):
        for call in function.calls():
            into = [k.value for k in call.keywords if k.arg in ("weights", "value")]
            if getattr(call.func, "attr", getattr(call.func, "id", "")) in ("assign", "set_weights", "Constant"):
                into += call.args
            if any(_mentions(node, argument.name) for node in into):
                return True
    return False


def _mentions(node: ast.AST, name: str) -> bool:
    names = (name, f"_{name}")
    return any(getattr(n, "id", None) in names or getattr(n, "attr", None) in names for n in ast.walk(node))
