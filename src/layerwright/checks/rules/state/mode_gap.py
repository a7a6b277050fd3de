from __future__ import annotations

import ast
from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from layerwright.checks.feed import arrays
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule

STEPS = {
    "one_hot", "argmax", "argmin", "round", "sign", "floor", "ceil", "greater", "greater_equal", "less", "less_equal", "top_k",
    "heaviside", "categorical", "binomial",
}  # fmt: skip


@rule("LW711", "note")
def mode_gap(lab: Lab) -> Iterator[Finding]:
    """The outputs are discrete in training and soft in inference.

    ## What it does
    Compares the outputs in both modes, also with each switch of the constructor that is off turned on.

    ## Why is this bad
    What follows the layer is trained on zeros and ones and then used on values between them, which it has never
    seen. The accuracy in use is not the one that training reported.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Pick(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x, training=None):
            soft = ops.softmax(ops.cast(x, self.compute_dtype))
            if not training:
                return soft
            hard = ops.one_hot(ops.argmax(soft, axis=-1), x.shape[-1], dtype=soft.dtype)
            return soft + ops.stop_gradient(hard - soft)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Pick(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            soft = ops.softmax(ops.cast(x, self.compute_dtype))
            hard = ops.one_hot(ops.argmax(soft, axis=-1), x.shape[-1], dtype=soft.dtype)
            return soft + ops.stop_gradient(hard - soft)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    Jang, Gu and Poole (2017), "Categorical Reparameterization with Gumbel-Softmax", section 2.2.
    """
    source = lab.components[0].source if lab.components else None
    call = source.method("call") if source is not None else None
    if source is None or call is None or "training" not in call.parameters or not _steps(source):
        return
    lab.called.get()
    if _gap(lab, lab.fresh()):
        yield _finding(lab, "", call)
        return
    for name, value in (lab.arguments() or {}).items():
        if value is False:
            flipped = lab.attempt(partial(_flipped, lab, name))
            if flipped.value:
                yield _finding(lab, f" with `{name}=True`", call)


def _finding(lab: Lab, when: str, at: Any) -> Finding:
    return lab.finding(
        f"`{lab.components[0].name}`{when} gives zeros and ones in training and values between them in inference.",
        expected="the same kind of output in both modes",
        got="discrete in training, soft in inference",
        fix="take the discrete values in inference too.",
        at=at,
    )


def _steps(source: Any) -> bool:
    return any(
        isinstance(node, ast.Attribute | ast.Name)
        and (node.attr if isinstance(node, ast.Attribute) else node.id) in STEPS
        for function in source.reachable("call")
        for node in function.walk()
    )


def _flipped(lab: Lab, name: str) -> bool:
    """The same for a layer with one switch of its constructor turned on."""
    return _gap(lab, lab.rebuilt(**{name: True}))


def _gap(lab: Lab, layer: Any) -> bool:
    feed = lab.feed.normal(5)
    soft = lab.infer(layer, feed)
    hard = arrays(lab.enter(layer, True, feed))
    return any(a.shape == b.shape and _discrete(a) and not _discrete(b) for a, b in zip(hard, soft, strict=False))


def _discrete(y: np.ndarray) -> bool:
    if y.dtype.kind != "f" or y.size < 2:
        return False
    values = set(np.unique(np.round(y.astype("float64"), 5)).tolist())
    return values in ({0.0, 1.0}, {-1.0, 1.0})
