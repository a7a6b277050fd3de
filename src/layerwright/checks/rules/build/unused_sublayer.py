from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import place_of, users
from layerwright.checks.rules.build._use import by_name, decides, is_called, mentions
from layerwright.checks.walk import Held, held


@rule("LW221", "warning", hides=("unused-weight",))
def unused_sublayer(lab: Lab) -> Iterator[Finding]:
    """A sublayer is made and never called.

    ## What it does
    Watches which sublayers are called, in training and in inference, and looks for those that are not and that no
    method of the class mentions. Of a list whose other layers are called, one that is left out is reported too,
    where nothing decides about it.

    ## Why is this bad
    A Dropout that is never called drops nothing; a Dense that is never called has weights that are saved and
    counted and never trained. Usually a line is missing in `call`, or two lists of different lengths meet in a `zip`.

    ## Example
    ```python
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.proj = layers.Dense(4, dtype=self.dtype_policy)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x, training=None):
            return self.proj(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Block(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x, training=None):
            return self.drop(self.proj(ops.cast(x, self.compute_dtype)), training=training)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Known limits
    A sublayer that only code outside of the class uses is reported too.

    ## Source
    Keras issue 12521.
    """
    lab.called.get()
    for component in users(lab):
        if by_name(component):
            continue
        idle = [
            item
            for item in held(component.layer)
            if isinstance(item.value, keras.layers.Layer) and not is_called(lab, item.value)
        ]
        for item in idle:
            if _forgotten(lab, component, item):
                yield lab.finding(
                    f"`self.{item.path}` of `{component.name}` is never called.",
                    expected="a call of every sublayer, in training or in inference",
                    got=f"{len(item.value.weights)} weights that nothing uses"
                    if item.value.weights
                    else "a layer without effect",
                    fix=f"call it in `call`, or delete `self.{item.path}`.",
                    at=place_of(component, item.attribute),
                )


def _forgotten(lab: Lab, component: Component, item: Held) -> bool:
    mentioned = mentions(component, item.attribute)
    if not mentioned:
        return True
    siblings = [
        i
        for i in held(component.layer)
        if i.attribute == item.attribute and i is not item and isinstance(i.value, keras.layers.Layer)
    ]
    partly = any(is_called(lab, sibling.value) for sibling in siblings if sibling.value is not item.value)
    return partly and not item.plain and not any(decides(function) for function, _ in mentioned)
