from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import stores, users
from layerwright.checks.rules.build._construction import before_super, constructed, super_call
from layerwright.checks.source import Function

SYMPTOMS = ("mask-dropped", "mask-ignored", "frozen-children-trainable", "base-arg-not-forwarded", "built-set-early")


@rule("LW214", "error", hides=SYMPTOMS)
def attribute_before_super(lab: Lab) -> Iterator[Finding]:
    """Something is set before `super().__init__()`, which resets it or refuses it.

    ## What it does
    Watches `Layer.__init__` while the layer is made, and compares the attributes before and after. It also
    looks for the errors that a weight, a layer or a property gives there.

    ## Why is this bad
    `supports_masking`, `trainable`, `input_spec`, `autocast` and the like have their default again afterwards,
    without a word. A weight can't be made yet; a layer can't be assigned yet on PyTorch.

    ## Example
    ```python
    class Double(layers.Layer):
        def __init__(self, **kwargs):
            self.supports_masking = True
            super().__init__(**kwargs)

        def call(self, x):
            return x * 2.0
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Double(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * 2.0

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 19311.
    """
    for component in users(lab):
        found = super_call(component.source)
        if found is None:
            continue
        early = list(before_super(component))
        yield from _reset(lab, component)
        yield from _failed(lab, component)
        if lab.backend != "torch":
            yield from _layers(lab, component, early)


def _reset(lab: Lab, component: Component) -> Iterator[Finding]:
    reset = constructed(lab).reset(component.layer)
    places = {
        target.attr: (function, target) for function, target, _ in reversed(list(stores(component.source, "__init__")))
    }
    for name in places:
        key = next((k for k in (name, f"_{name}") if k in reset), None)
        if key is not None:
            before, after = reset[key]
            yield lab.finding(
                f"`{component.name}` sets `self.{name}` before `super().__init__()`, which resets it.",
                expected=f"`{name}` = {_shown(before)}",
                got=_shown(after),
                fix=f"set `self.{name}` after `super().__init__(**kwargs)`.",
                at=places[name],
            )


def _shown(value: Any) -> str:
    return repr(value) if isinstance(value, bool | int | float | str | None) else f"a {type(value).__name__}"


def _failed(lab: Lab, component: Component) -> Iterator[Finding]:
    """The constructor raised before `Layer.__init__` ran, at something that needs it."""
    failure = lab.made.failure
    if failure is None or internals.initialised(component.layer):
        return
    if not failure.mentions("super().__init__", "Module.__init__", "has no attribute", "has no setter"):
        return
    yield lab.finding(
        f"`{component.name}.__init__` needs `super().__init__()` at a line that stands above it.",
        expected="`super().__init__(**kwargs)` as the first statement",
        got=failure.summary,
        fix="move `super().__init__(**kwargs)` to the top of `__init__`.",
        at=failure,
    )


def _layers(lab: Lab, component: Component, early: list[tuple[Function, ast.Attribute, ast.AST]]) -> Iterator[Finding]:
    for function, target, _ in early:
        value = vars(component.layer).get(target.attr)
        if isinstance(value, keras.layers.Layer):
            yield lab.finding(
                f"`{component.name}` assigns the layer `self.{target.attr}` before `super().__init__()`.",
                expected="`super().__init__(**kwargs)` as the first statement",
                got="an order that raises on PyTorch",
                fix="move `super().__init__(**kwargs)` to the top of `__init__`.",
                at=(function, target),
                severity="warning",
            )
            return
