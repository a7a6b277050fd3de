from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW605", "error", hides=("mask-shape-mismatch", "call-not-traceable"))
def compute_mask_none(lab: Lab) -> Iterator[Finding]:
    """`compute_mask` fails where there is no mask.

    ## What it does
    Calls `compute_mask(inputs, None)` of every layer that has its own, as Keras does wherever the input carries
    no mask.

    ## Why is this bad
    Every call without a mask raises, in a method that has nothing to do with what was asked for.

    ## Example
    ```python
    class Pool2(keras.layers.Layer):
        def call(self, x):
            return x[:, ::2]

        def compute_mask(self, inputs, mask=None):
            return mask[:, ::2]
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Pool2(keras.layers.Layer):
        def call(self, x):
            return x[:, ::2]

        def compute_mask(self, inputs, mask=None):
            return None if mask is None else mask[:, ::2]

        def compute_output_shape(self, input_shape):
            steps = None if input_shape[1] is None else (input_shape[1] + 1) // 2
            return (input_shape[0], steps, *input_shape[2:])
    ```

    ## Source
    TensorFlow issue 32322.
    """
    for component in lab.components:
        written = component.source.method("compute_mask")
        if written is None:
            continue
        failure = _in_call(lab) or _by_itself(lab, component)
        if failure is not None:
            yield lab.finding(
                f"`{component.name}.compute_mask` fails where there is no mask.",
                expected="None for a mask that is None",
                got=failure.summary,
                fix="begin with `if mask is None: return None`."
                if "NoneType" in failure.text
                else "write `def compute_mask(self, inputs, mask=None):`, and return None for a mask that is None.",
                at=failure if failure.at is not None and failure.at.function == "compute_mask" else written,
            )


def _in_call(lab: Lab) -> Failure | None:
    """The failure of the subject's own call, where it comes from `compute_mask`."""
    failure = lab.called.failure
    if failure is not None and (
        any(f.function == "compute_mask" for f in failure.frames) or "compute_mask()" in failure.text
    ):
        return failure
    return None


def _by_itself(lab: Lab, component: Component) -> Failure | None:
    if component.path != "self" or not lab.called.ok:
        return None
    inputs: Any = lab.feed.map(keras.ops.convert_to_tensor).args
    if not inputs:
        return None
    first = inputs[0]
    if len(inspect.signature(component.layer.compute_mask).parameters) < 1:
        return None
    nothing = keras.tree.map_structure(lambda _: None, first)
    return lab.attempt(lambda: component.layer.compute_mask(first, nothing)).failure
