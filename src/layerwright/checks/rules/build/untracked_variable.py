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
    "reload-differs",
    "state-not-saved",
    "tensor-leak",
    "python-state-in-call",
    "call-not-traceable",
    "update-at-inference",
)


@rule("LW209", "error", hides=SYMPTOMS)
def untracked_variable(lab: Lab) -> Iterator[Finding]:
    """A `keras.Variable` is used that is not among the layer's variables.

    ## What it does
    Walks through all that a layer holds or refers to, as `untracked-layer` does, and compares the variables found
    there with `layer.variables`.

    ## Why is this bad
    The variable is not saved, not trained, and on JAX, where a training step is given the variables that Keras
    knows and gives back their new values, an update of it is lost without a message.

    ## Example
    ```python
    class Box:
        def __init__(self):
            self.scale = keras.Variable([1.0, 1.0, 1.0, 1.0])


    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.box = Box()

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * ops.cast(self.box.scale, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="scale")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * self.scale

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 21639.
    """
    subject = lab.layer
    if subject is None or not internals.initialised(subject):
        return
    known = {id(v) for v in _known(subject)}
    for component in users(lab):
        groups: dict[str, list[Reached]] = {}
        for found in reached(component):
            if (
                isinstance(found.value, keras.Variable)
                and id(found.value) not in known
                and not _of_layer(lab, found.value)
            ):
                groups.setdefault(found.root, []).append(found)
        for group in groups.values():
            yield _finding(lab, component, group)


def _known(layer: Any) -> list[Any]:
    variables = [*layer.variables, *layer.metrics_variables]
    optimizer = getattr(layer, "optimizer", None)
    return variables + list(getattr(optimizer, "variables", []))


def _of_layer(lab: Lab, variable: Any) -> bool:
    """Whether a variable belongs to a layer that is held somewhere: then that layer is what isn't tracked."""
    return any(variable is other for _, child in lab.children for other in child.variables)


def _finding(lab: Lab, component: Component, group: list[Reached]) -> Finding:
    first = group[0]
    names = listed(list(dict.fromkeys(found.path for found in group)))
    holder = (
        f"a plain `{type(first.holder).__name__}` holds it"
        if first.how == "object"
        else "it isn't an attribute of the layer"
    )
    verb = "are variables" if len(group) > 1 else "is a variable"
    return lab.finding(
        f"{names} in `{component.name}` {verb} that Keras doesn't see: {holder}.",
        expected="every variable that `call` uses in `layer.variables`",
        got="a value that is neither saved nor trained, and whose updates are lost on JAX",
        fix="make it with `self.add_weight(...)` and keep it in an attribute of the layer.",
        at=line_of(component, first),
    )
