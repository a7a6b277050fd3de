from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import UNKNOWN, Function, text_of


@rule("LW720", "error", backends=("jax",), hides=("state-in-branch", "update-at-inference"))
def metric_in_call(lab: Lab) -> Iterator[Finding]:
    """A metric is updated in `call`, which fails in `fit` on JAX.

    ## What it does
    Looks for `update_state` of a metric, or a call of one, in what `call` runs.

    ## Why is this bad
    On JAX `fit` hands `call` the weights of the model, and the variables of metrics are not among them:
    `'NoneType' object is not callable`. On every backend `predict` would count as well.

    ## Example
    ```python
    class Watched(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
            self.mean_output = keras.metrics.Mean(name="mean_output")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            y = self.dense(x)
            self.mean_output.update_state(ops.mean(ops.cast(y, "float32")))
            return y
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Watched(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
            self.mean_output = keras.metrics.Mean(name="mean_output")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)

        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            self.mean_output.update_state(ops.mean(ops.cast(y_pred, "float32")))
            return super().compute_metrics(x, y, y_pred, sample_weight)
    ```

    ## Source
    Keras issues 21639 and 19402.
    """
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            if _updates(function, call, target, component):
                yield lab.finding(
                    f"`call` updates the metric `{_name(call)}`, whose variables `fit` doesn't hand to `call` on JAX.",
                    expected="metrics updated in `compute_metrics` or `train_step`",
                    got=text_of(call),
                    fix="move the update to `compute_metrics`, or keep the value in a non-trainable weight.",
                    at=(function, call),
                )


def _updates(function: Function, call: ast.Call, target: Any, component: Component) -> bool:
    if isinstance(target, keras.metrics.Metric):
        return True
    if not isinstance(call.func, ast.Attribute) or call.func.attr not in ("update_state", "reset_state"):
        return False
    owner = function.resolve(call.func.value, component.layer)
    return isinstance(owner, keras.metrics.Metric) or owner is UNKNOWN


def _name(call: ast.Call) -> str:
    node = call.func
    if isinstance(node, ast.Attribute) and node.attr in ("update_state", "reset_state"):
        node = node.value
    return text_of(node)
