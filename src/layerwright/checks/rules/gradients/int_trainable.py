from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import name_of, users
from layerwright.checks.source import Function, Source, constant, keyword


@rule("LW441", "error", hides=("call-not-traceable", "no-gradient", "unused-weight", "wrong-gradient"))
def int_trainable(lab: Lab) -> Iterator[Finding]:
    """A weight of integer or boolean type is trainable.

    ## What it does
    Looks for trainable weights whose dtype isn't a floating one, and for the error that PyTorch raises already
    when such a weight is made.

    ## Why is this bad
    There is no gradient to an integer. Each backend fails in another way, in making the weight or at the first
    training step, and none says which weight it is.

    ## Example
    ```python
    class Steps(layers.Layer):
        def build(self, input_shape):
            self.steps = self.add_weight(shape=(input_shape[-1],), dtype="int32", initializer="ones", name="steps")

        def call(self, x):
            return x * ops.cast(self.steps, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Steps(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.steps = self.add_weight(
                shape=(input_shape[-1],), dtype="int32", initializer="ones", trainable=False, name="steps"
            )

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x * ops.cast(self.steps, x.dtype)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 20058.
    """
    for component in users(lab):
        whole = [
            v
            for v in internals.own_variables(component.layer)
            if v.trainable and not keras.backend.is_float_dtype(v.dtype)
        ]
        for variable in whole:
            yield _finding(
                lab, component, name_of(component.layer, variable), variable.dtype, _line(component, variable.name)
            )
        if whole:
            return
    for failure in lab.failures:
        if failure.mentions("can require gradients"):
            for component in users(lab):
                at = _line(component, None)
                if not isinstance(at, Source):
                    yield _finding(lab, component, "a weight", "integer", failure.at or at)
                    return


def _finding(lab: Lab, component: Component, name: str, dtype: str, at: object) -> Finding:
    shown = f"`{name}`" if name != "a weight" else name
    return lab.finding(
        f"{shown} of `{component.name}` is trainable and of type {dtype}: it can't have a gradient.",
        expected="trainable=False, or a floating dtype",
        got=f"dtype {dtype}, trainable=True",
        fix="pass `trainable=False` to `add_weight`.",
        at=at,  # type: ignore[arg-type]
    )


def _line(component: Component, name: str | None) -> tuple[Function, ast.AST] | Source:
    """The `add_weight` of this name, else one with an integer dtype, else the class."""
    calls = [
        (f, c)
        for f, c, _ in component.source.calls("__init__", "build", "call")
        if isinstance(c.func, ast.Attribute) and c.func.attr in ("add_weight", "Variable")
    ]
    named = [(f, c) for f, c in calls if name is not None and constant(keyword(c, "name")) == name]
    whole = [
        (f, c)
        for f, c in calls
        if "int" in str(constant(keyword(c, "dtype"))) or constant(keyword(c, "dtype")) == "bool"
    ]
    return next(iter(named or whole), component.source)
