from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import attributes, models, overrides

APPLYING = {"apply_gradients", "apply", "stateless_apply"}
SCALING = {"scale_loss", "compute_loss_and_updates", "get_scaled_loss"}

FIX = "write `loss = self.optimizer.scale_loss(loss)` before the gradients are taken, and report the loss as it was."
# Outside of the scope in which Keras puts the optimizer's variables, `scale_loss` has no scale.
FIXES = {
    "jax": "differentiate `self.compute_loss_and_updates(..., optimizer_variables=optimizer_variables)`, which scales the "
    "loss and returns the loss as it was beside it, or change `compute_loss` alone."
}


@rule("LW806", "error")
def no_loss_scaling(lab: Lab) -> Iterator[Finding]:
    """`train_step` applies gradients without scaling the loss, which mixed precision needs.

    ## What it does
    Looks in a `train_step` that applies gradients itself for `self.optimizer.scale_loss`.

    ## Why is this bad
    Under `mixed_float16`, `compile` puts the optimizer inside a `LossScaleOptimizer`, which divides every gradient
    by the scale, 2**15 at first. Where the loss wasn't multiplied by it, updates are 32768 times too small: the
    model seems to learn nothing.

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
            import torch

            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            self.zero_grad()
            loss = self.compute_loss(x=x, y=y, y_pred=self(x, training=True), sample_weight=sample_weight)
            self._loss_tracker.update_state(loss)
            loss.backward()
            with torch.no_grad():
                self.optimizer.apply([v.value.grad for v in self.trainable_weights], self.trainable_weights)
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

    ## Source
    Keras' own `train_step` of each backend, and the documentation of `keras.optimizers.LossScaleOptimizer`.
    """
    for component in models(lab):
        if component.source.method("train_step") is None:
            continue
        used = list(attributes(component, "train_step", "compute_loss_and_updates"))
        scaling = SCALING - {f.name for f in overrides(component, "compute_loss_and_updates")}
        applied = [(f, node) for f, node in used if node.attr in APPLYING and _of_optimizer(node.value)]
        if not applied or any(node.attr in scaling for _, node in used):
            continue
        yield lab.finding(
            f"`{component.name}.train_step` applies gradients of a loss that wasn't scaled, so that updates are 32768 times too "
            "small under `mixed_float16`.",
            expected="gradients of the scaled loss",
            got="the gradients of the loss itself",
            fix=FIXES.get(lab.backend, FIX),
            at=applied[0],
        )


def _of_optimizer(node: object) -> bool:
    from layerwright.checks.source import text_of

    return "opt" in text_of(node).lower()  # type: ignore[arg-type]
