from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.models._training import STEPS, models, overrides
from layerwright.checks.source import Function, constant, text_of

FIX = "write `x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)` and pass `sample_weight` on."


@rule("LW807", "warning")
def batch_unpack(lab: Lab) -> Iterator[Finding]:
    """`train_step` takes for granted that a batch is a pair.

    ## What it does
    Looks for `x, y = data` in `train_step` and `test_step`, and for `data[0]` and `data[1]` without `data[2]`.

    ## Why is this bad
    With `sample_weight` or `class_weight` a batch has three parts: unpacking two of them raises, and taking the
    first two loses the weights and says nothing.

    ## Example
    ```python
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def test_step(self, data):
            x, y = data
            return {"error": ops.mean(ops.abs(y - self(x, training=False)))}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Regressor(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(x)

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)

        def test_step(self, data):
            x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
            error = ops.abs(y - self(x, training=False))
            return {"error": ops.mean(error if sample_weight is None else error * sample_weight)}
    ```

    ## Source
    The Keras guides on customizing what happens in `fit()`: "Supporting `sample_weight` & `class_weight`".
    """
    for component in models(lab):
        for step in overrides(component, *STEPS):
            data = step.parameters[-1] if len(step.parameters) > 1 else None
            if data is None or _careful(step, data):
                continue
            node = _pair(step, data)
            if node is not None:
                yield lab.finding(
                    f"`{component.name}.{step.name}` takes a batch apart as a pair, which fails with `sample_weight`."
                    if isinstance(node, ast.Assign)
                    else f"`{component.name}.{step.name}` takes the first two parts of a batch, and loses `sample_weight`.",
                    expected="x, y, sample_weight",
                    got=text_of(node),
                    fix=FIX,
                    at=(step, node),
                )


def _careful(step: Function, data: str) -> bool:
    """Whether the step asks how many parts there are."""
    for node in step.walk():
        asks = isinstance(node, ast.Call) and getattr(node.func, "id", "") in ("len", "isinstance")
        if asks and any(isinstance(a, ast.Name) and a.id == data for a in node.args):  # type: ignore[attr-defined]
            return True
        if isinstance(node, ast.Match) and isinstance(node.subject, ast.Name) and node.subject.id == data:
            return True
        if isinstance(node, ast.Try):
            return True
    return False


def _pair(step: Function, data: str) -> ast.AST | None:
    indices: dict[object, ast.AST] = {}
    for node in step.walk():
        if isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == data:
            for target in node.targets:
                pair = isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2
                if pair and not any(isinstance(e, ast.Starred) for e in ast.iter_child_nodes(target)):
                    return node
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == data:
            index = constant(node.slice)
            indices.setdefault(index if isinstance(index, int) else "other", node)
    return indices[1] if set(indices) == {0, 1} else None
