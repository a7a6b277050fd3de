from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._where import touched
from layerwright.checks.source import function_of
from layerwright.checks.walk import own_attributes

READING = {"__init__", "metrics", "reset_metrics", "reset_state", "get_config"}


@rule("LW809", "note")
def metric_never_updated(lab: Lab) -> Iterator[Finding]:
    """A metric of the model is never updated.

    ## What it does
    Looks for metrics that the constructor makes and that no method of the class uses again.

    ## Why is this bad
    `fit` reports it all the same: 0.0 in every epoch, under a name that promises more.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)
            self.size = keras.metrics.Mean(name="size")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)
            self.size = keras.metrics.Mean(name="size")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)

        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            self.size.update_state(ops.mean(ops.abs(ops.cast(y_pred, "float32"))))
            return super().compute_metrics(x, y, y_pred, sample_weight)
    ```

    ## Source
    `Trainer.metrics` in Keras 3: every metric that a model holds is reported.
    """
    for component in lab.components:
        for name, value in own_attributes(component.layer).items():
            if isinstance(value, keras.metrics.Metric) and not _used(component, name):
                yield lab.finding(
                    f"The metric `self.{name}` of `{component.name}` is never updated.",
                    expected=f"`self.{name}.update_state(...)` in `train_step` or `compute_metrics`",
                    got="no use of it beside the constructor",
                    fix=f"update `self.{name}`, or remove it.",
                    at=touched(component.source, name, "__init__", "build", "compile"),
                )


def _used(component: Component, name: str) -> bool:
    """Whether a method of the class reads the attribute to do something with it."""
    for cls in component.source.cls.__mro__:
        for method, member in vars(cls).items():
            live = member.fget if isinstance(member, property) else getattr(member, "__func__", member)
            function = function_of(live) if live is not None and method not in READING else None
            if function is None or not component.source.home(function.path):
                continue
            if _updates_all(function.node):
                return True
            for node in function.walk():
                read = isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Load)
                if read or (isinstance(node, ast.Constant) and node.value == name):
                    return True
    return False


def _updates_all(step: ast.AST) -> bool:
    """`for metric in self.metrics: metric.update_state(...)`."""
    return any(
        isinstance(node, ast.For)
        and any(isinstance(n, ast.Attribute) and n.attr == "metrics" for n in ast.walk(node.iter))
        and any(isinstance(n, ast.Attribute) and n.attr == "update_state" for n in ast.walk(node))
        for node in ast.walk(step)
    )
