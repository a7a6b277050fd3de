from __future__ import annotations

import ast
import inspect
import re
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.facts import KEPT_FOR
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import stores, users
from layerwright.checks.source import Function

# Attributes of a bare layer that are meant to be set, although their names begin with an underscore.
SETTABLE = frozenset(
    {
        "_convert_input_args",
        "_allow_non_tensor_positional_args",
        "_build_shapes_dict",
        "_supports_masking",
        "_input_spec",
    }
)
SYMPTOMS = (
    *("state-not-saved", "reload-differs", "tensor-leak", "python-state-in-call", "untracked-layer", "unused-sublayer"),
    *("child-unbuilt-after-build", "child-dtype", "frozen-children-trainable"),
)
NO_SETTER = re.compile(r"property '(\w+)' of '\w+' object has no setter")


@rule("LW213", "error", hides=SYMPTOMS)
def reserved_attribute(lab: Lab) -> Iterator[Finding]:
    """An attribute has a name that Keras uses itself.

    ## What it does
    Compares every `self.name = ...` of the class with the properties of `keras.layers.Layer` that can't be set
    (`output`, `losses`, `weights`, `dtype`, ...), and with the private attributes in which Keras keeps its own
    account (`_layers`, `_losses`, `_metrics`, ...). A method of Keras' that a plain value replaces is a warning.

    ## Why is this bad
    A property can't be set: the constructor raises. A private attribute can, and then Keras works with the
    wrong list: after `self._layers = [...]`, layers that are assigned later are neither trained nor saved.

    ## Example
    ```python
    class Head(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self._layers = [layers.Dense(3, dtype=self.dtype_policy)]

        def build(self, input_shape):
            self._layers[0].build(input_shape)

        def call(self, x):
            return self._layers[0](x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Head(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.stack = [layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)]

        def build(self, input_shape):
            self.stack[0].build(input_shape)

        def call(self, x):
            return self.stack[0](ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)
    ```

    ## Source
    TensorFlow issue 26536, PennyLane pull request 5008.
    """
    found = set()
    for component in users(lab):
        seen = set()
        for function, target, _ in stores(component.source):
            reason = None if target.attr in seen else _reason(component, target.attr)
            if reason is not None:
                seen.add(target.attr)
                found.add(target.attr)
                yield _finding(lab, component, function, target, *reason)
    yield from _refused(lab, found)


def _reason(component: Component, name: str) -> tuple[str, str, bool] | None:
    """What Keras uses a name for, what comes of it, and whether it is certain to do harm."""
    model = isinstance(component.layer, keras.Model)
    owner = next((cls for cls in type(component.layer).__mro__ if name in vars(cls)), None)
    if owner is None:
        if name.startswith("_") and name in internals.layer_attributes(model) - SETTABLE:
            return (
                f"where Keras keeps {KEPT_FOR.get(name, 'something of its own')}",
                "Keras works with the wrong value",
                True,
            )
        return None
    member = vars(owner)[name]
    if owner.__module__.split(".")[0] != "keras":
        return None
    if isinstance(member, property) and (member.fset is None or (model and name == "layers")):
        return "a read-only property of Keras", "an AttributeError", True
    value = vars(component.layer).get(name, callable)
    if inspect.isfunction(member) and not callable(value):
        return "a method of Keras", f"`layer.{name}(...)` no longer works", False
    return None


def _refused(lab: Lab, known: set[str]) -> Iterator[Finding]:
    """A property that was set in a way that the source doesn't show, such as `setattr`."""
    for failure in lab.failures:
        found = NO_SETTER.search(failure.text) if failure.kind == "AttributeError" else None
        name = found[1] if found is not None else ""
        if name in internals.read_only_attributes() and name not in known:
            yield lab.finding(
                f"`{name}` is set on a layer, which is a read-only property of Keras.",
                expected="a name that Keras doesn't use",
                got=failure.summary,
                fix="rename it.",
                at=failure,
            )


def _finding(
    lab: Lab, component: Component, function: Function, target: ast.AST, used: str, effect: str, certain: bool
) -> Finding:
    name: Any = getattr(target, "attr", "")
    return lab.finding(
        f"`{component.name}` sets `self.{name}`, which is {used}.",
        expected="a name that Keras doesn't use",
        got=effect,
        fix=f"rename it, for instance to `self.my_{name.strip('_')}`.",
        at=(function, target),
        severity=None if certain else "warning",
    )
