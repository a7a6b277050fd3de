from __future__ import annotations

import inspect
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW703", "warning")
def training_default_true(lab: Lab) -> Iterator[Finding]:
    """`training` of `call` defaults to True.

    ## What it does
    Reads the default of the argument `training` of `call`.

    ## Why is this bad
    A bare `layer(x)` or `model(x)` runs in training mode: dropout drops and statistics move while predictions
    are made. Every layer of Keras is in inference mode unless it is told otherwise.

    ## Example
    ```python
    class Noisy(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def call(self, x, training=True):
            return self.drop(x, training=training)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Noisy(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def call(self, x, training=None):
            return self.drop(x, training=training)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    D2L issue 2086.
    """
    for component in lab.components:
        call = component.source.method("call")
        if call is None or call.live is None:
            continue
        flag = inspect.signature(call.live).parameters.get("training")
        if flag is not None and isinstance(flag.default, bool | int) and flag.default:
            yield lab.finding(
                f"`{component.name}.call` runs in training mode unless it is told otherwise.",
                expected="training=None",
                got=f"training={flag.default!r}",
                fix="write `training=None` in the signature of `call`.",
                at=call,
            )
