from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import methods, users

METHODS = ("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics", "compile", "fit")


@rule("LW218", "note", advice=True)
def layer_should_be_model(lab: Lab) -> Iterator[Finding]:
    """A layer has methods that Keras calls on models only.

    ## What it does
    Looks for `train_step`, `test_step`, `compute_loss` and the like in a class that is a layer and no model.

    ## Why is this bad
    `fit`, `evaluate` and `predict` exist on `keras.Model` alone, and only they call these methods. On a layer they
    are never run: the model around it trains with its own loss.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * 0.5

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)

        def compute_loss(self, x=None, y=None, y_pred=None, sample_weight=None):
            return ops.mean(ops.square(y - y_pred))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Half(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * 0.5

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    keras, `trainers/trainer.py`.
    """
    for component in users(lab):
        if isinstance(component.layer, keras.Model):
            continue
        written = methods(component.source)
        names = [name for name in METHODS if name in written]
        if names:
            yield lab.finding(
                f"`{component.name}` is a layer, so Keras never calls its {', '.join(f'`{n}`' for n in names)}.",
                expected="a subclass of `keras.Model`",
                got="a subclass of `keras.layers.Layer`",
                fix="derive from `keras.Model`, or use `self.add_loss(...)` in `call`.",
                at=written[names[0]],
            )
