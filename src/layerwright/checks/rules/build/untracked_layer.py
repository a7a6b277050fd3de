from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import listed, users
from layerwright.checks.rules.build._reach import Reached, line_of, reached

SYMPTOMS = (
    *("reload-differs", "child-unbuilt-after-build", "untracked-variable", "unattached-seed-generator"),
    *("unseeded-random", "state-not-saved", "child-dtype", "frozen-children-trainable", "tensor-leak"),
    *("shared-object-duplicated", "config-object-not-deserialized", "build-shape-type", "auto-config-unsupported"),
)


@rule("LW208", "error", hides=SYMPTOMS)
def untracked_layer(lab: Lab) -> Iterator[Finding]:
    """A layer is used that Keras doesn't know to be a sublayer.

    ## What it does
    Walks through all that a layer holds or refers to (containers, objects of your own classes, closures,
    partial functions, class attributes, names of the module that `call` uses) and compares the layers found there
    with those that Keras tracks. Layers without weights are let pass.

    ## Why is this bad
    The weights of such a layer are neither trained nor saved nor counted, without a message. Keras tracks what is
    assigned to an attribute, and what is in a list, tuple, dict or set that is; not what is put into a list by
    index, or held by an object that is no layer.

    ## Example
    ```python
    class Stack(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.blocks = [None] * 2
            for k in range(2):
                self.blocks[k] = layers.Dense(4)

        def build(self, input_shape):
            for block in self.blocks:
                block.build(input_shape)

        def call(self, x):
            for block in self.blocks:
                x = block(x)
            return x
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Stack(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.blocks = [layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable) for _ in range(2)]

        def build(self, input_shape):
            for block in self.blocks:
                block.build(input_shape)

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            for block in self.blocks:
                x = block(x)
            return x

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Known limits
    A layer that is kept out on purpose, such as a frozen teacher, is a warning.

    ## Source
    Keras issue 16797, TensorFlow issues 29073 and 38211.
    """
    subject = lab.layer
    if subject is None or not internals.initialised(subject):
        return
    tracked = {id(subject), *map(id, internals.sublayers(subject))}
    for component in users(lab):
        if id(component.layer) not in tracked:
            continue
        groups: dict[str, list[Reached]] = {}
        for found in reached(component):
            if (
                isinstance(found.value, keras.layers.Layer)
                and id(found.value) not in tracked
                and _has_weights(found.value)
            ):
                groups.setdefault(found.root, []).append(found)
        for group in groups.values():
            yield _finding(lab, component, group)


def _has_weights(layer: Any) -> bool:
    if not internals.initialised(layer):
        return False
    return bool(layer.variables) or not layer.built


def _finding(lab: Lab, component: Component, group: list[Reached]) -> Finding:
    first = group[0]
    count = sum(len(found.value.variables) for found in group)
    weights = f"{count} variable{'s' * (count != 1)}" if count else "all weights"
    names = listed(list(dict.fromkeys(found.path for found in group)))
    frozen = all(not found.value.trainable for found in group)
    verb = "are layers" if len(group) > 1 else "is a layer"
    return lab.finding(
        f"{names} in `{component.name}` {verb} that Keras doesn't see: {_because(first)}.",
        expected="every layer that `call` uses among the tracked sublayers",
        got=f"{weights} that are neither trained nor saved",
        fix=_fix(first),
        at=line_of(component, first),
        severity="warning" if frozen else None,
    )


def _because(found: Reached) -> str:
    holder = type(found.holder).__name__
    return {
        "object": f"a plain `{holder}` holds it, which is no layer",
        "function": "a function has captured it",
        "class": "it belongs to the class, not to the instance",
        "name": "it is a name outside the class",
        "default": "it is the default of an argument",
        "container": "set behind Keras' back"
        if "[" not in found.path
        else "put into the container in a way that isn't watched",
    }[found.how]


def _by_item(found: Reached) -> bool:
    return found.how == "container" and "[" in found.path


def _fix(found: Reached) -> str:
    if found.how == "object":
        return f"make `{type(found.holder).__name__}` a `keras.layers.Layer`, or assign the layer to an attribute of this one too."
    if _by_item(found):
        return f"append the layers, or assign the finished container to `self.{found.root}`."
    return "assign the layer to an attribute in `__init__` or `build`."
