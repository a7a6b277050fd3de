from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._training import called, names
from layerwright.checks.source import UNKNOWN, text_of


@rule("LW706", "error", hides=("child-unbuilt-after-build",))
def direct_call_method(lab: Lab) -> Iterator[Finding]:
    """A sublayer's `call` method is used in place of the sublayer.

    ## What it does
    Watches for `self.child.call(x)` where `self.child(x)` is meant.

    ## Why is this bad
    Calling the layer builds it, casts its inputs to its dtype policy, tells it whether it is training, hands it
    the mask and collects its losses. Its `call` method does none of that.

    ## Example
    ```python
    class Projected(keras.layers.Layer):
        def __init__(self, units=4, **kwargs):
            super().__init__(**kwargs)
            self.units = units
            self.dense = layers.Dense(units, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense.call(x)

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Projected(keras.layers.Layer):
        def __init__(self, units=4, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.units = units
            self.dense = layers.Dense(units, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], self.units)

        def get_config(self):
            return {**super().get_config(), "units": self.units}
    ```

    ## Source
    The documentation of `keras.Layer`: `call` is reached through `__call__`.
    """
    if not lab.in_inference.ok:
        yield from _written(lab)
        return
    run = lab.in_inference.get()
    paths = names(run.layer)
    seen = {d.at: d.layer for d in (*run.direct, *(lab.in_training.value.direct if lab.in_training.value else ()))}
    for at, layer in seen.items():
        name = paths.get(id(layer))
        yield lab.finding(
            f"{called(name, layer)} is run through its method `call`, not called.",
            expected=f"{name or 'the layer'}(...)",
            got=f"{name or 'the layer'}.call(...)",
            fix="leave `.call` out.",
            at=at,
        )


def _written(lab: Lab) -> Iterator[Finding]:
    """The same from the source, for a layer that can't be called."""
    failing = {(frame.path, frame.line) for failure in lab.failures for frame in failure.frames}
    for component in lab.components:
        for function, call, _ in component.source.calls("call"):
            if not isinstance(call.func, ast.Attribute) or call.func.attr != "call":
                continue
            owner, text = function.resolve(call.func.value, component.layer), text_of(call.func.value)
            if owner is component.layer or text.startswith("super("):
                continue
            fails = (function.path, call.lineno) in failing
            if isinstance(owner, keras.layers.Layer) or (owner is UNKNOWN and (fails or text.startswith("self."))):
                yield lab.finding(
                    f"`{text}` is run through its method `call`, not called.",
                    expected=f"{text}(...)",
                    got=f"{text}.call(...)",
                    fix="leave `.call` out.",
                    at=(function, call),
                )
