from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import STEPS, attributes, models, overrides
from layerwright.checks.source import UNKNOWN, Function

MARKS = {"GradientTape": "TensorFlow", "backward": "PyTorch", "zero_grad": "PyTorch", "value_and_grad": "JAX", "stateless_call": "JAX",
         "stateless_apply": "JAX"}  # fmt: skip


@rule("LW810", "note", advice=True)
def backend_specific_train_step(lab: Lab) -> Iterator[Finding]:
    """`train_step` runs on one backend only.

    ## What it does
    Looks in `train_step` and `test_step` for what belongs to one framework.

    ## Why is this bad
    The model trains on that backend and fails on the others. Often `compute_loss` or `compute_metrics` is all
    that has to be changed, and runs everywhere.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)

        def train_step(self, data):
            import tensorflow as tf

            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
                scaled = self.optimizer.scale_loss(loss)
            gradients = tape.gradient(scaled, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            self._loss_tracker.update_state(loss)
            return self.compute_metrics(x, y, y_pred, sample_weight)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None, training=True):
            loss = super().compute_loss(x, y, y_pred, sample_weight, training)
            return loss + 1e-3 * ops.mean(ops.square(y_pred))
    ```

    ## Source
    The Keras guides on customizing what happens in `fit()`, one for each backend.
    """
    for component in models(lab):
        found = _framework(component)
        if found is not None and overrides(component, *STEPS):
            framework, at = found
            yield lab.finding(
                f"`{component.name}.{overrides(component, *STEPS)[0].name}` runs on {framework} only.",
                expected="`compute_loss` or `compute_metrics`, which run on every backend",
                got=f"code for {framework}",
                fix="override `compute_loss` where that is enough; else say in the documentation which backend it needs.",
                at=at,
            )


def _framework(component: Component) -> tuple[str, tuple[Function, ast.AST]] | None:
    for function, node in attributes(component, *STEPS):
        name = MARKS.get(node.attr)
        if name is None and node.attr == "gradient":
            continue
        if name is not None:
            target = function.resolve(node, component.layer)
            module = (getattr(target, "__module__", None) or "").split(".")[0]
            if target is UNKNOWN or module in ("tensorflow", "jax", "torch", "keras"):
                return name, (function, node)
    for step in overrides(component, *STEPS):
        if len(step.parameters) == 3:
            return "JAX", (step, step.node)
    return None
