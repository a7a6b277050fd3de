from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._training import called, lost, names


@rule("LW705", "error", hides=("training-not-forwarded",))
def training_leak(lab: Lab) -> Iterator[Finding]:
    """A sublayer that is called with `training=False` switches off those that are called after it.

    ## What it does
    Calls the layer as `fit` does and looks for sublayers that inherit `training=False` from an earlier call of
    another sublayer.

    ## Why is this bad
    What one sublayer is told becomes what all later ones inherit. The usual way to freeze a backbone,
    `self.backbone(x, training=False)`, so switches off the dropout of the head behind it.

    ## Example
    ```python
    class Head(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.norm.build(input_shape)

        def call(self, x, training=None):
            return self.drop(self.norm(x, training=False))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Head(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.norm.build(input_shape)

        def call(self, x, training=None):
            return self.drop(self.norm(x, training=False), training=training)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    `Layer._resolve_and_populate_arg` in Keras 3: an argument that is passed is kept for the rest of the outer call.
    """
    run = lab.in_training.get()
    paths = names(run.layer)
    for call, switch in lost(lab):
        if switch is None or switch.at is None:
            continue
        earlier = called(paths.get(id(switch.layer)), switch.layer)
        yield lab.finding(
            f"{called(paths.get(id(call.layer)), call.layer)} inherits `training=False` from the call of {earlier} on "
            f"line {switch.at.line}, and is off during `fit`.",
            expected="training=True during fit",
            got=f"training={call.training!r}",
            fix="pass `training=training` to it as well.",
            at=call.at,
        )
