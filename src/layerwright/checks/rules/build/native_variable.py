from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._arrays import (
    Array,
    arrays_held,
    drawn_anew,
    is_constant_start,
    is_named_like_weight,
)
from layerwright.checks.rules.build._common import CONSTRUCTION, place_of, store_of, users
from layerwright.checks.rules.build._reach import Reached, line_of, reached
from layerwright.checks.source import UNKNOWN

SYMPTOMS = (
    *("reload-differs", "state-not-saved", "mixed-precision-constant", "random-table-in-init", "call-not-traceable"),
    *("tensor-leak", "policy-ignored", "backend-specific-ops", "graph-differs", "update-at-inference"),
)


@rule("LW210", "error", hides=SYMPTOMS)
def native_variable(lab: Lab) -> Iterator[Finding]:
    """A weight is made with the framework's own means, so that Keras doesn't know it.

    ## What it does
    Looks through all that a layer holds for a `tf.Variable`, a `torch.nn.Parameter`, a `tf.Module` or
    `torch.nn.Module` with parameters, and for arrays that are weights in all but name: made in `__init__` or
    `build`, read by `call`, and filled with ones or zeros, by an initializer, or at random under a weight's name.

    ## Why is this bad
    Keras trains and saves what `add_weight` made. Such a weight keeps its initial value for ever on JAX, and on the
    other backends it is left out by the optimizer and by the file; nothing is said.

    ## Example
    ```python
    class Scale(layers.Layer):
        def build(self, input_shape):
            self.scale = ops.ones((input_shape[-1],))

        def call(self, x):
            return x * ops.cast(self.scale, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * self.scale

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Known limits
    An array is a constant as a rule: one with a structure (a table of positions, of frequencies) is never
    reported, and on TensorFlow and PyTorch, which have variables of their own, only one with a weight's name.

    ## Source
    TensorFlow issues 38211 and 46325, TensorFlow Probability issue 946.
    """
    for component in users(lab):
        for found in reached(component):
            kind = _kind(lab, found.value)
            if kind is not None:
                yield _finding(lab, component, found, kind)
    for array in arrays_held(lab):
        why = _weight(lab, array)
        if why is not None:
            yield lab.finding(
                f"`{array.path}` in `{array.component.name}` is a plain array that is used as a weight: {why}.",
                expected="a weight that Keras trains and saves",
                got=f"a {type(array.raw).__name__} of shape {array.value.shape}, which never changes",
                fix="make it with `self.add_weight(...)`; if it is a constant, keep it as a NumPy array.",
                at=place_of(array.component, array.attribute),
            )


def _kind(lab: Lab, value: Any) -> str | None:
    if isinstance(value, keras.Operation | keras.Variable | type):
        return None
    if lab.engine.is_variable(value):
        kept = {id(internals.backing(v)) for v in getattr(lab.layer, "variables", [])}
        return None if id(value) in kept else type(value).__name__
    if isinstance(value, lab.engine.state_types()):
        return type(value).__name__ if lab.attempt(lambda: _parameters(value)).value else None
    return None


def _parameters(module: Any) -> bool:
    found = getattr(module, "variables", None)
    return bool(found) if found is not None else any(True for _ in module.parameters())


def _finding(lab: Lab, component: Component, found: Reached, kind: str) -> Finding:
    return lab.finding(
        f"`{found.path}` in `{component.name}` is a {kind}, which Keras neither trains nor saves.",
        expected="a weight among `layer.weights`",
        got=f"a {kind} that isn't",
        fix="make it with `self.add_weight(...)`.",
        at=line_of(component, found),
    )


def _weight(lab: Lab, array: Array) -> str | None:
    """Why an array is taken for a weight; None where it is a constant."""
    if not lab.engine.is_tensor(array.raw):
        return None
    if _from_initializer(array):
        return "an initializer filled it"
    if lab.backend != "jax" and not is_named_like_weight(array):
        return None
    if is_constant_start(array):
        return f"it starts as {array.value.flat[0]:g} all over"
    if lab.backend == "jax" and is_named_like_weight(array) and (array.path in drawn_anew(lab) or _from_random(array)):
        return "it starts with random numbers"
    return None


def _from_initializer(array: Array) -> bool:
    """Whether the attribute is set to what an initializer returned: `initializers.get(...)(shape)`."""
    return any(isinstance(call.func, ast.Call) and "nitializer" in ast.unparse(call.func) for call in _calls(array))


def _from_random(array: Array) -> bool:
    for call in _calls(array):
        stored = store_of(array.component.source, array.attribute, *CONSTRUCTION)
        target = stored[0].resolve(call.func, array.component.layer) if stored is not None else UNKNOWN
        if ".random" in getattr(target, "__module__", "") or ".random." in f".{ast.unparse(call.func)}":
            return True
    return False


def _calls(array: Array) -> list[ast.Call]:
    stored = store_of(array.component.source, array.attribute, *CONSTRUCTION)
    return [n for n in ast.walk(stored[1]) if isinstance(n, ast.Call)] if stored is not None else []
