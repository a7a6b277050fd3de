from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import is_users, variables_below


@rule("LW219", "warning")
def model_build_empty(lab: Lab) -> Iterator[Finding]:
    """`model.build(shape)` marks a model as built and makes no weights.

    ## What it does
    Calls `build` with the shape of the inputs on a fresh subclassed model that has no `build` of its own, and
    counts its variables beside those of a model that was called.

    ## Why is this bad
    `model.build((None, 4))` says that the model is built now, with a warning at most; `summary()` shows no
    parameters, `load_weights` has nothing to fill, `get_weights()` is empty.

    ## Example
    ```python
    class Classifier(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.head = layers.Dense(3, dtype=self.dtype_policy)

        def call(self, x):
            return self.head(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Classifier(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.head = layers.Dense(3, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.head.build(input_shape)

        def call(self, x):
            return self.head(x)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)
    ```

    ## Source
    keras, `layers/layer.py`: `Layer.build` warns of it.
    """
    full = lab.called.get().layer
    if not isinstance(full, keras.Model) or not is_users(full) or internals.is_functional(full):
        return
    if not internals.is_default(type(full).build):
        return
    built = lab.attempt(lambda: _built(lab)).get()
    there, here = len(variables_below(full)), len(variables_below(built))
    if built.built and here < there:
        yield lab.finding(
            f"`{type(full).__name__}` has no `build`: `model.build(shape)` marks it built with {here} of {there} weights.",
            expected=f"{there} weights after `model.build(shape)`, as after a call",
            got=f"{here}",
            fix="write a `build` that builds every sublayer, or call the model on an input instead.",
            at=lab.components[0].source,
        )


def _built(lab: Lab) -> Any:
    model = lab.fresh()
    if model.built or len(lab.feed.args) != 1 or not isinstance(lab.feed.args[0], np.ndarray):
        if not model.built:
            raise Skip("the model has several inputs")
        return model
    model.build((None, *lab.feed.args[0].shape[1:]))
    return model
