from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import STEPS, attributes, models, overrides, trained

OWN_LOSS = {
    "compute_loss",
    "compiled_loss",
    "_compute_loss",
    "_compile_loss",
    "stateless_compute_loss",
    "compute_loss_and_updates",
}


@rule("LW805", "error", hides=("metric-named-loss",))
def reported_loss_differs(lab: Lab) -> Iterator[Finding]:
    """The loss that `fit` reports isn't the loss.

    ## What it does
    Where a model has a `train_step` of its own that minimizes the compiled loss, runs one step of `fit` at
    learning rate 0 and compares the reported loss with the loss of the same rows, computed in both modes.

    ## Why is this bad
    Early stopping, checkpoints and people look at a number that has nothing to do with what is minimized.

    ## Example
    ```python
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def train_step(self, data):
            import tensorflow as tf

            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            with tf.GradientTape() as tape:
                y_pred = self(x, training=True)
                loss = self.compute_loss(x=x, y=y, y_pred=y_pred, sample_weight=sample_weight)
                scaled = self.optimizer.scale_loss(loss)
            gradients = tape.gradient(scaled, self.trainable_variables)
            self.optimizer.apply(gradients, self.trainable_variables)
            return {m.name: m.result() for m in self.metrics}
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

    ## Known limits
    A `train_step` that computes a loss of its own is left alone.

    ## Source
    The Keras guides on customizing what happens in `fit()`.
    """
    for component in models(lab):
        step = component.source.method("train_step")
        if component.path != "self" or step is None or not _minimizes_compiled(component):
            continue
        result = trained(lab)
        if result.value is None:
            found = list(_written(lab, component))
            yield from found
            if not found and result.failure is not None:
                raise Skip(f"a step of `fit` fails here with {result.failure.summary}")
            continue
        run = result.value
        low, high = min(run.losses), max(run.losses)
        room = 0.05 * max(abs(low), abs(high)) + 0.5 * (high - low) + 1e-4
        reported = run.fitted.get("loss")
        if reported is None or low - room <= reported <= high + room:
            continue
        yield lab.finding(
            f"`fit` of `{component.name}` reports a loss that isn't the loss of what it was given.",
            expected=f"{run.losses[0]:.4g}, the loss of the same rows",
            got=f"{reported:.4g}",
            fix="update the reported loss in `train_step`: `self._loss_tracker.update_state(loss)`, or a `keras.metrics.Mean` "
            "of your own that is in `self.metrics`.",
            at=step,
        )


def _minimizes_compiled(component: Component) -> bool:
    return any(node.attr in OWN_LOSS for _, node in attributes(component, "train_step"))


def _written(lab: Lab, component: Component) -> Iterator[Finding]:
    """From the source, where the step can't be run on this backend: the mean of the predictions as the loss."""
    used = {node.attr for _, node in attributes(component, *STEPS)}
    if "compiled_metrics" in used and not used & {"_loss_tracker", "loss_tracker"}:
        step = overrides(component, "train_step")[0]
        node = next(
            n for _, n in attributes(component, "train_step") if isinstance(n, ast.Attribute) and n.attr in OWN_LOSS
        )
        yield lab.finding(
            f"`{component.name}.train_step` never updates the loss that it reports; `compiled_metrics` puts the mean of the "
            "predictions in its place.",
            expected="the loss",
            got="the mean of the predictions",
            fix="update the loss tracker with the loss: `self._loss_tracker.update_state(loss)`.",
            at=(step, node),
        )
