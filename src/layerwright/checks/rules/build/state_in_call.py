from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import users
from layerwright.checks.rules.build._creations import Creation, creations
from layerwright.checks.source import UNKNOWN, Function

SYMPTOMS = (
    *("reload-differs", "child-unbuilt-after-build", "inference-random", "unseeded-random", "constant-seed"),
    *(
        "unattached-seed-generator",
        "call-not-traceable",
        "graph-differs",
        "tensor-leak",
        "no-gradient",
        "unused-weight",
    ),
    *("output-shape-mismatch", "python-state-in-call", "untracked-layer", "untracked-variable", "child-dtype"),
    *(
        "state-in-branch",
        "wrong-gradient",
        "batch-dependence",
        "direct-call-method",
        "native-variable",
        "metric-in-call",
    ),
    *("model-build-empty", "state-not-saved", "mode-gap", "training-not-forwarded", "host-random-in-call"),
    *("policy-ignored", "mixed-precision-constant"),
)
LOCKED = "You cannot add new elements of state"


@rule("LW207", "error", hides=SYMPTOMS)
def state_in_call(lab: Lab) -> Iterator[Finding]:
    """A layer, weight, variable, metric or seed generator is made in `call()`.

    ## What it does
    Watches a first, a second and a training call of a fresh layer for objects with state that the user's own
    lines make, then reads what `call` reaches for those that a branch kept from being made. Layers without state,
    such as `ReLU` or `Add`, are let pass.

    ## Why is this bad
    What is made in each call starts anew in each call: random weights that are never trained, never saved and
    differ every time; noise that is always the same. What is made in the first call only is refused by Keras once
    the layer is built, or is missing when a file is loaded.

    ## Example
    ```python
    class Gate(layers.Layer):
        def call(self, x):
            return x * layers.Dense(4, activation="sigmoid")(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Gate(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.gate = layers.Dense(
                input_shape[-1], activation="sigmoid", dtype=self.dtype_policy, trainable=self.trainable
            )
            self.gate.build(input_shape)

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * self.gate(x)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 19745, Keras pull request 10191, keras-io pull request 1693.
    """
    seen: set[tuple[str, int]] = set()
    made = creations(lab)
    for creation in made:
        key = (creation.at.path, creation.at.line)
        if key not in seen:
            seen.add(key)
            yield _dynamic(lab, creation, any(c.again and c.at == creation.at for c in made))
    for failure in lab.failures:
        if failure.mentions(LOCKED) and failure.at is not None and (failure.at.path, failure.at.line) not in seen:
            seen.add((failure.at.path, failure.at.line))
            yield lab.finding(
                f"`{failure.at.function}` adds state to a layer that is already built.",
                expected="every weight and sublayer made in `__init__` or `build`",
                got=failure.summary,
                fix="make it in `build`.",
                at=failure,
            )
    yield from _static(lab, seen)


def _dynamic(lab: Lab, creation: Creation, again: bool) -> Finding:
    name = type(creation.layer).__name__
    if isinstance(creation.value, keras.random.SeedGenerator):
        place = "in `__init__`"
        effect = "every call draws the same numbers" if again else "Keras doesn't know it when the layer is loaded"
    else:
        place = "in `build`" if isinstance(creation.value, keras.Variable) else "in `__init__` or `build`"
        effect = "every call starts with a new one" if again else "it exists only after the first call"
    return lab.finding(
        f"`{name}` makes {creation.kind} in `call`: {effect}.",
        expected="state that is made once, before the first call",
        got="a new one at the second call too" if again else "a new one at the first call",
        fix=f"make it {place} and keep it in an attribute.",
        at=creation.at,
    )


def _static(lab: Lab, seen: set[tuple[str, int]]) -> Iterator[Finding]:
    for component in users(lab):
        for function, call, target in component.source.calls("call"):
            if function.name in ("build", "__init__") or (function.path, call.lineno) in seen:
                continue
            what = _state(lab, function, call, target, component.layer)
            if what is not None:
                seen.add((function.path, call.lineno))
                yield lab.finding(
                    f"`{component.name}` makes {what} in `{function.name}`, which `call` runs.",
                    expected="state that is made once, before the first call",
                    got="a line that makes it during a call",
                    fix="make it in `__init__` or `build` and keep it in an attribute.",
                    at=(function, call),
                )


def _state(lab: Lab, function: Function, call: ast.Call, target: Any, layer: Any) -> str | None:
    """What a call makes that has state, for sure; None for everything else."""
    if isinstance(call.func, ast.Attribute) and call.func.attr in ("add_weight", "add_variable"):
        return "a weight" if function.resolve(call.func.value, layer) is layer else None
    if target is UNKNOWN or not isinstance(target, type):
        return None
    if issubclass(target, keras.Variable):
        return "a variable"
    if issubclass(target, keras.random.SeedGenerator):
        return "a SeedGenerator"
    if issubclass(target, keras.metrics.Metric):
        return f"the metric {target.__name__}"
    if issubclass(target, keras.layers.Layer):
        return f"the layer {target.__name__}" if _mentions(target, "add_weight", "SeedGenerator") else None
    if issubclass(target, lab.engine.state_types()):
        return f"a {target.__name__}" if _native(target) else None
    return None


def _native(cls: type) -> bool:
    """Whether a framework's class has parameters: a variable itself, or a module whose constructor makes some."""
    return not hasattr(cls, "forward") or _mentions(cls, "Parameter")


def _mentions(cls: type, *names: str) -> bool:
    """Whether a class's constructor or `build`, or one that it inherits, uses one of the names."""
    functions = [
        vars(base).get(name) for base in cls.__mro__ for name in ("__init__", "build") if base is not keras.layers.Layer
    ]
    return any(set(names) & set(getattr(getattr(f, "__code__", None), "co_names", ())) for f in functions)
