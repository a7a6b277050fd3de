from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import Function

ASSIGNING = ("assign", "assign_add", "assign_sub")


@rule("LW445", "error", backends=("jax",), hides=("unused-weight", "no-gradient", "update-at-inference"))
def assign_to_trainable(lab: Lab) -> Iterator[Finding]:
    """`call` assigns to a trainable weight, and JAX drops the update.

    ## What it does
    Looks in `call`, and in what it reaches, for `self.mean.assign(...)` where `self.mean` is a trainable weight.

    ## Why is this bad
    On JAX a training step hands back the new values of weights that aren't trainable; those of trainable ones come
    from the optimizer. `fit` runs without a message, and the weight keeps its first value.

    ## Example
    ```python
    class Centred(layers.Layer):
        def build(self, input_shape):
            self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", name="mean")

        def call(self, x, training=None):
            if training:
                self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x, axis=0))
            return x - self.mean
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Centred(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)

        def build(self, input_shape):
            self.mean = self.add_weight(
                shape=(input_shape[-1],),
                initializer="zeros",
                dtype="float32",
                autocast=False,
                trainable=False,
                name="mean",
            )

        def call(self, x, training=None):
            x = ops.cast(x, self.compute_dtype)
            y = x - ops.cast(self.mean, x.dtype)
            if training:
                mean = ops.mean(ops.cast(x, "float32"), axis=0)
                self.mean.assign(0.9 * self.mean + 0.1 * ops.stop_gradient(mean))
            return y

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras' training step on JAX, `JAXTrainer.train_step`.
    """
    for component in lab.components:
        seen = set()
        for function, call, name in _assignments(component):
            if name not in seen:
                seen.add(name)
                yield lab.finding(
                    f"`{component.name}.{function.name}` assigns to `self.{name}`, a trainable weight, and on JAX the update is lost.",
                    expected="`trainable=False` for a weight that `call` assigns to",
                    got="a trainable weight",
                    fix=f"make `self.{name}` with `self.add_weight(..., trainable=False)`.",
                    at=(function, call),
                )


def _assignments(component: Component) -> Iterator[tuple[Function, ast.Call, str]]:
    """Every `self.<a trainable weight>.assign(...)` in what `call` reaches."""
    for function in component.source.reachable("call"):
        for call in function.calls():
            target = call.func
            if not (isinstance(target, ast.Attribute) and target.attr in ASSIGNING):
                continue
            held = target.value
            if isinstance(held, ast.Attribute) and function.resolve(held.value, component.layer) is component.layer:
                variable = vars(component.layer).get(held.attr)
                if isinstance(variable, keras.Variable) and variable.trainable:
                    yield function, call, held.attr
