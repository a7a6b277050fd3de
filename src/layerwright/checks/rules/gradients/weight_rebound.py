from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules._once import once
from layerwright.checks.rules.build._common import stores, users
from layerwright.checks.rules.build._use import counterpart
from layerwright.checks.source import Function

SYMPTOMS = (
    *(
        "tensor-leak",
        "python-state-in-call",
        "state-not-saved",
        "reload-differs",
        "call-not-traceable",
        "graph-differs",
    ),
    *("no-gradient", "unused-weight", "wrong-gradient", "inference-random", "update-at-inference", "weight-snapshot"),
    *("batch-dependence", "python-constant-baked", "native-variable"),
)
METHODS = ("call", "train_step", "test_step", "predict_step", "compute_loss", "update_state")


@rule("LW442", "error", hides=SYMPTOMS)
def weight_rebound(lab: Lab) -> Iterator[Finding]:
    """A weight's attribute is given a tensor in `call()`, which replaces the weight instead of changing it.

    ## What it does
    Compares what the attributes hold when the layer is built with what they hold after calls in inference and in
    training, and looks for the line that assigns.

    ## Why is this bad
    `self.average = 0.9 * self.average + ...` takes the variable off the layer: the saved and trained weight keeps
    its first value, and in a compiled step the attribute is a tensor of a trace that has ended. A variable is
    changed by `assign`.

    ## Example
    ```python
    class Smooth(layers.Layer):
        def build(self, input_shape):
            self.average = self.add_weight(
                shape=(input_shape[-1],), initializer="zeros", trainable=False, name="average"
            )

        def call(self, x):
            self.average = 0.9 * self.average + 0.1 * ops.mean(x, axis=0)
            return x - self.average
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Smooth(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)

        def build(self, input_shape):
            self.average = self.add_weight(
                shape=(input_shape[-1],),
                initializer="zeros",
                dtype="float32",
                autocast=False,
                trainable=False,
                name="average",
            )

        def call(self, x, training=None):
            x = ops.cast(x, self.compute_dtype)
            y = x - ops.cast(self.average, x.dtype)
            if training:
                mean = ops.mean(ops.cast(x, "float32"), axis=list(range(len(x.shape) - 1)))
                self.average.assign(0.9 * self.average + 0.1 * ops.stop_gradient(mean))
            return y

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    TensorFlow issue 32210.
    """
    for component in users(lab):
        methods = [name for name in METHODS if component.source.method(name) is not None]
        seen = set()
        for function, target, statement in stores(component.source, *methods) if methods else ():
            if target.attr in seen or function.name in ("build", "__init__"):
                continue
            if _was_weight(lab, component, target.attr) and not _is_weight_still(
                lab, component, target.attr, statement
            ):
                seen.add(target.attr)
                yield _finding(lab, component, function, target, statement)


def _was_weight(lab: Lab, component: Component, name: str) -> bool:
    """Whether an attribute holds a variable once the layer is built: seen there, or made by `add_weight`."""
    for layer in (lab.built.value.layer if lab.built.value is not None else None, _before(lab)):
        part = None if layer is None else counterpart(lab, layer, component.layer)
        if part is not None and isinstance(vars(part).get(name), keras.Variable):
            return True
    return any(
        target.attr == name and any(_makes_weight(node) for node in ast.walk(statement))
        for _, target, statement in stores(component.source, "__init__", "build")
    )


@once
def _before(lab: Lab) -> Any:
    """A fresh layer that was built where that is possible without calling it."""

    def probe() -> Any:
        layer = lab.fresh()
        lab.build(layer)
        return layer

    return lab.attempt(probe).value


def _makes_weight(node: ast.AST) -> bool:
    return (
        isinstance(node, ast.Call)
        and isinstance(node.func, ast.Attribute)
        and node.func.attr in ("add_weight", "add_variable", "Variable")
    )


def _is_weight_still(lab: Lab, component: Component, name: str, statement: ast.AST) -> bool:
    """Whether what is assigned is a variable too: seen in the layers that were called, else by what is written."""
    layers = [lab.called.value.layer] if lab.called.value is not None else []
    layers += [lab.in_training.value.layer] if lab.called.ok and lab.in_training.value is not None else []
    parts = [p for p in (counterpart(lab, layer, component.layer) for layer in layers) if p is not None]
    if any(name in vars(p) and not isinstance(vars(p)[name], keras.Variable) for p in parts):
        return False
    # A line that no probe ran: an expression over the attribute itself can only be a tensor.
    value = getattr(statement, "value", None)
    itself = isinstance(statement, ast.AugAssign) or (
        isinstance(value, ast.BinOp) and any(isinstance(n, ast.Attribute) and n.attr == name for n in ast.walk(value))
    )
    return not itself


def _finding(lab: Lab, component: Component, function: Function, target: ast.Attribute, statement: ast.AST) -> Finding:
    name = target.attr
    return lab.finding(
        f"`{function.name}` of `{component.name}` assigns to `self.{name}`, so that a tensor takes the place of the weight.",
        expected=f"`self.{name}` still a variable after a call",
        got="a tensor; the weight itself keeps its first value",
        fix=f"write `self.{name}.assign(...)`."
        if not isinstance(statement, ast.AugAssign)
        else f"write `self.{name}.assign_add(...)`.",
        at=(function, statement),
    )
