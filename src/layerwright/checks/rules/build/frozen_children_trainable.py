from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import is_users, listed, place_of
from layerwright.checks.rules.state._where import attribute
from layerwright.checks.walk import held


@rule("LW220", "note", advice=True)
def frozen_children_trainable(lab: Lab) -> Iterator[Finding]:
    """`trainable=False` for a layer doesn't reach the sublayers that it makes.

    ## What it does
    Makes the layer with `trainable=False` and looks which of its own sublayers are trainable all the same.

    ## Why is this bad
    The layer says that it has no trainable weights, but a model around it asks the sublayers too, and trains
    them. The same happens to a layer that was frozen, saved and loaded: its config says `trainable=False`, its
    new sublayers are trainable.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Wrapped(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(4, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Wrapped(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Known limits
    Keras' own `MultiHeadAttention` and `Bidirectional` do the same; sublayers that the caller passes in are the
    caller's to freeze. It is a warning where the layer that is checked was made with `trainable=False`. Freezing after building (`layer.trainable = False`) reaches all.

    ## Source
    Keras issues 4674 and 9157, tf-keras issue 453.
    """
    layer = lab.called.get().layer
    if not is_users(layer) or isinstance(layer, keras.Model):
        return
    frozen, given = _frozen(lab)
    awake = [item for item in held(frozen) if _awake(item.value) and not any(item.value is g for g in given)]
    if awake:
        component = lab.components[0]
        yield lab.finding(
            f"`{component.name}(trainable=False)` leaves {listed([f'self.{item.path}' for item in awake])} trainable.",
            expected="no trainable weights in a model around it",
            got=f"{sum(len(item.value.trainable_variables) for item in awake)} trainable weights",
            fix="pass `trainable=self.trainable` to every sublayer.",
            at=place_of(component, attribute(awake[0].path)),
            severity=None if layer.trainable else "warning",
        )


def _awake(value: Any) -> bool:
    return isinstance(value, keras.layers.Layer) and value.trainable and bool(value.trainable_variables)


def _frozen(lab: Lab) -> tuple[Any, list[Any]]:
    """The layer made with `trainable=False` and called, and what was passed to its constructor."""

    def probe() -> tuple[Any, list[Any]]:
        layer = lab.fresh()
        given = list((lab.made.get().arguments or {}).values())
        if layer.trainable:
            layer = lab.rebuilt(trainable=False)
            given = list(lab.last_arguments.values())
        if layer.trainable:
            raise Skip("the layer doesn't take `trainable`")
        layer(*lab.feed.args, **lab.feed.kwargs)
        return layer, keras.tree.flatten(given)

    return lab.attempt(probe).get()
