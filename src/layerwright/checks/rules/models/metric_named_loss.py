from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import models, trained
from layerwright.checks.rules.state._where import touched
from layerwright.checks.walk import held


@rule("LW808", "warning")
def metric_named_loss(lab: Lab) -> Iterator[Finding]:
    """A metric of the model is called `loss` and overwrites the loss in what `fit` reports.

    ## What it does
    Where a model holds a metric named `loss`, runs one step of `fit` and looks whether the model's own loss is
    among the metrics as well, with another value.

    ## Why is this bad
    Logs are a dict. The metric comes after the loss and takes its place in the history, in the progress bar, and
    for callbacks that watch `loss`.

    ## Example
    ```python
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)
            self.size = keras.metrics.Mean(name="loss")

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_metrics(self, x, y, y_pred, sample_weight=None):
            self.size.update_state(ops.mean(ops.abs(ops.cast(y_pred, "float32"))))
            return super().compute_metrics(x, y, y_pred, sample_weight)
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
    `Trainer.get_metrics_result` in Keras 3: a dict by name.
    """
    for component in models(lab):
        if component.path != "self":
            continue
        named = [
            i for i in held(component.layer) if isinstance(i.value, keras.metrics.Metric) and i.value.name == "loss"
        ]
        if not named:
            continue
        run = trained(lab).get()
        if len(run.doubles) > 1 and max(run.doubles) - min(run.doubles) > 1e-4 * (1 + abs(run.doubles[0])):
            own = named[0].path
            yield lab.finding(
                f"The metric `self.{own}` is called `loss` and takes the place of the loss in what `fit` reports.",
                expected=f"loss = {run.doubles[0]:.4g}",
                got=f"loss = {run.doubles[-1]:.4g}",
                fix="give the metric another name, or define the property `metrics` so that only one is called `loss`.",
                at=touched(component.source, named[0].attribute, "__init__"),
            )
