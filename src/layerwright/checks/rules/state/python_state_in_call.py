from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._left import left_behind
from layerwright.checks.source import UNKNOWN, Function, text_of

SYMPTOMS = (
    "graph-differs", "reload-differs", "state-not-saved", "batch-dependence", "inference-random", "wrong-gradient",
    "python-constant-baked",
)  # fmt: skip


@rule("LW708", "error", hides=SYMPTOMS)
def python_state_in_call(lab: Lab) -> Iterator[Finding]:
    """`call` changes a Python number, a switch or a list: a compiled step runs that once, when it is traced.

    ## What it does
    Compares the Python values that the layer, its class and the module hold before and after a call.

    ## Why is this bad
    On TensorFlow and JAX, Python code in `call` runs while the step is traced. A counter counts traces, not
    steps, and its value of that moment is a constant of the compiled step. Nor is it saved with the weights.

    ## Example
    ```python
    class Warm(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.step = 0

        def call(self, x):
            self.step += 1
            return x / self.step
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Warm(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.step = self.add_weight(
                shape=(), initializer="zeros", dtype="int32", trainable=False, autocast=False, name="step"
            )

        def call(self, x, training=None):
            if training:
                self.step.assign_add(1)
            return x / ops.cast(ops.maximum(self.step, 1), x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    A flag that is only stored and never read in `call` is left alone, and so is the memo of a first call.

    ## Source
    Keras issue 16999.
    """
    found = [item for item in left_behind(lab) if not item.tensors]
    for item in found:
        yield lab.finding(
            f"`{item.method}` changes the Python value `{item.name}`, which a compiled step does only while it is traced.",
            expected="a call changes variables only",
            got=f"{item.before} before a call, {item.after} after it",
            fix='make it a weight: `self.add_weight(shape=(), dtype="int32", trainable=False, ...)` and `assign_add(1)`.',
            at=item.at,
            severity="warning" if lab.backend == "torch" else "error",
        )
    if not found:
        for component in lab.components:
            yield from _iterators(lab, component)


def _iterators(lab: Lab, component: Component) -> Iterator[Finding]:
    """`next(self.values)`: the state is in the iterator."""
    for function, call, target in component.source.calls("call"):
        if target is not next or not call.args:
            continue
        iterator = _value(function, call.args[0], component)
        if iterator is not UNKNOWN and hasattr(iterator, "__next__"):
            yield lab.finding(
                f"`call` advances the Python iterator `{text_of(call.args[0])}`, which a compiled step does only while it "
                "is traced.",
                expected="a call changes variables only",
                got=text_of(call),
                fix="keep the position in a weight, or pass the value in as an input.",
                at=(function, call),
                severity="warning" if lab.backend == "torch" else "error",
            )


def _value(function: Function, node: ast.expr, component: Component) -> object:
    return function.resolve(node, component.layer)
