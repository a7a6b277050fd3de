from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule

FIX = "give the weight a regularizer (`add_weight(..., regularizer=...)`), or call `add_loss` in `call`."


@rule("LW719", "error")
def add_loss_outside_call(lab: Lab) -> Iterator[Finding]:
    """`add_loss` is called in `__init__` or `build`, where the loss is lost.

    ## What it does
    Looks for `add_loss` in what `__init__` and `build` run.

    ## Why is this bad
    Each call of a model begins with an empty list of losses. A loss from before is thrown away, nothing is said,
    and the penalty is never part of what `fit` minimizes.

    ## Example
    ```python
    class Penalized(keras.layers.Layer):
        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")
            self.add_loss(ops.sum(ops.square(ops.convert_to_tensor(self.w))))

        def call(self, x):
            return x * self.w
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Penalized(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", regularizer="l2", name="w")

        def call(self, x):
            return x * self.w

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Source
    TensorFlow issue 30378.
    """
    failure = next((f for f in lab.failures if f.mentions("`add_loss()` can only be called from inside")), None)
    if failure is not None and failure.at is not None and failure.at.function != "call":
        where = failure.at.function
        yield lab.finding(
            f"`add_loss` is called in `{where}`, outside of `call`.",
            expected="add_loss in `call`, with a tensor",
            got=failure.summary,
            fix=FIX,
            at=failure,
        )
        return
    for component in lab.components:
        in_call = {id(f.node) for f in component.source.reachable("call")}
        for method in ("__init__", "build"):
            for function, call, target in component.source.calls(method):
                named = isinstance(call.func, ast.Attribute) and call.func.attr == "add_loss"
                if id(function.node) in in_call or not (named or getattr(target, "__name__", "") == "add_loss"):
                    continue
                yield lab.finding(
                    f"`add_loss` is called in `{method}`, and the loss is gone when the first call starts.",
                    expected="add_loss in `call`",
                    got=f"add_loss in `{method}`",
                    fix=FIX,
                    at=(function, call),
                )
