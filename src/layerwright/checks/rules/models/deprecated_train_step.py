from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.facts import GONE_FROM_TRAINING
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import STEPS, attributes, models
from layerwright.checks.source import text_of


@rule("LW804", "error")
def deprecated_train_step(lab: Lab) -> Iterator[Finding]:
    """`train_step` is written for Keras 2: it uses `compiled_loss` or `compiled_metrics`.

    ## What it does
    Looks in `train_step` and `test_step`, and in all that they call, for what Keras 3 has no longer.

    ## Why is this bad
    On TensorFlow a stand-in is left: `compiled_loss` updates no loss, and `compiled_metrics` feeds the mean of the
    predictions into the metric that is reported as the loss. On JAX and PyTorch the step fails.

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

        def test_step(self, data):
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            y_pred = self(x, training=False)
            loss = self.compiled_loss(y, y_pred, sample_weight)
            return {"loss": loss}
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
            return super().compute_loss(x, y, y_pred, sample_weight, training)
    ```

    ## Source
    The Keras guides on customizing what happens in `fit()`.
    """
    for component in models(lab):
        seen: set[str] = set()
        for function, node in attributes(component, *STEPS):
            owner = text_of(node.value)
            of_model = function.resolve(node.value, component.layer) is component.layer
            of_optimizer = owner.split(".")[-1].endswith("optimizer")
            if (
                node.attr not in GONE_FROM_TRAINING
                or node.attr in seen
                or not (of_model if node.attr.startswith("compiled") else of_optimizer)
            ):
                continue
            seen.add(node.attr)
            yield lab.finding(
                f"`{component.name}.{function.name}` uses `{owner}.{node.attr}`, which Keras 3 has no longer.",
                expected=GONE_FROM_TRAINING[node.attr].strip("`"),
                got=f"{owner}.{node.attr}",
                fix=f"write {GONE_FROM_TRAINING[node.attr]}.",
                at=(function, node),
            )
