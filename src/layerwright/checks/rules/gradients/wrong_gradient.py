from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Skip
from layerwright.checks.feed import Feed
from layerwright.checks.lab import Component, Lab
from layerwright.checks.probes.gradients import Gradient, project
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import UNKNOWN, Function


@rule("LW404", "error")
def wrong_gradient(lab: Lab) -> Iterator[Finding]:
    """A gradient written by hand isn't the derivative of what is computed.

    ## What it does
    Where `call()` reaches a gradient written by hand (`tf.custom_gradient`, `jax.custom_vjp`,
    `torch.autograd.Function`, `keras.ops.custom_gradient`), compares the gradient of every weight and input
    along random directions with central differences of two step sizes, and its shape with the weight's.

    ## Why is this bad
    The loss falls nevertheless, for a while, and the layer learns something else. The usual slip is a
    parameter's gradient that isn't summed over the batch.

    ## Example
    ```python
    @ops.custom_gradient
    def scaled(x, factor):
        def grad(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            return upstream * factor, 3.0 * ops.sum(upstream * x)

        return x * factor, grad


    class Scale(layers.Layer):
        def build(self, input_shape):
            self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

        def call(self, x):
            return scaled(x, 1.0 * self.factor)
    ```

    ## Use instead
    ```python
    @ops.custom_gradient
    def scaled(x, factor):
        def grad(*args, upstream=None):
            upstream = args[0] if upstream is None else upstream
            return upstream * factor, ops.sum(upstream * x)

        return x * factor, grad


    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

        def call(self, x):
            return scaled(ops.cast(x, self.compute_dtype), 1.0 * self.factor)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Known limits
    Layers whose gradients the framework derives itself are not compared. A straight-through estimator differs
    from the differences by intention and jumps; where the two step sizes disagree, nothing is said.

    ## Source
    The first of the three articles, whose parameter gradient isn't summed over the batch.
    """
    written = next(_by_hand(lab), None)
    if written is None:
        raise Skip("every gradient is derived by the framework")
    component, function, node = written
    attempt = lab.gradient(lab.feed.normal(4), training=False)
    gradient = attempt.get()
    for message, got in [*_shapes(gradient), *_slopes(lab, gradient)]:
        yield lab.finding(
            f"The gradient written by hand in `{component.name}` is wrong for {message}.",
            expected="the derivative of the outputs, summed over whatever was broadcast",
            got=got,
            fix="derive it again; sum a parameter's gradient over the batch, and return it in the parameter's shape.",
            at=(function, node),
        )
        return


def _by_hand(lab: Lab) -> Iterator[tuple[Component, Function, ast.AST]]:
    makers = [*lab.engine.gradient_makers(), keras.ops.custom_gradient]
    for component in lab.components:
        for function in component.source.reachable("call"):
            for decorator in getattr(function.node, "decorator_list", []):
                called = decorator.func if isinstance(decorator, ast.Call) else decorator
                if any(function.resolve(called) is m for m in makers):
                    yield component, function, function.node
        for function, call, target in component.source.calls("call"):
            applied = target is UNKNOWN and isinstance(call.func, ast.Attribute) and call.func.attr == "apply"
            owner = function.resolve(call.func.value) if applied else getattr(target, "__self__", None)  # type: ignore[attr-defined]
            own = isinstance(owner, type) and any(isinstance(m, type) and issubclass(owner, m) for m in makers)
            if own or any(target is m for m in makers) or type(target) in makers:
                yield component, function, call


def _shapes(gradient: Gradient) -> Iterator[tuple[str, str]]:
    for variable, value in gradient.by_weight():
        if value is not None and tuple(value.shape) != tuple(variable.shape):
            yield f"`{variable.name}`", f"shape {value.shape} for a weight of shape {tuple(variable.shape)}"


def _slopes(lab: Lab, gradient: Gradient) -> Iterator[tuple[str, str]]:
    layer, feed = gradient.layer, lab.feed.normal(4)
    for variable, value in gradient.by_weight():
        rng = np.random.default_rng(11)
        before = keras.ops.convert_to_numpy(variable.value).astype("float64")
        direction = rng.standard_normal(before.shape)

        def move(h: float, variable: Any = variable, before: Any = before, direction: Any = direction) -> float:
            variable.assign((before + h * direction).astype("float32"))
            try:
                return _total(lab, layer, feed)
            finally:
                variable.assign(before.astype("float32"))

        yield from _judge(f"`{variable.name}`", move, 0.0 if value is None else float(np.sum(value * direction)))
    for place, value in enumerate(gradient.step.inputs):
        direction = np.random.default_rng(12).standard_normal(lab.feed.floats[place].shape)

        def shift(h: float, place: int = place, direction: Any = direction) -> float:
            counter = iter(range(len(feed.floats)))
            moved = feed.floating(lambda x: x + h * direction if next(counter) == place else x)
            return _total(lab, layer, moved)

        yield from _judge(f"input {place}", shift, 0.0 if value is None else float(np.sum(value * direction)))


def _judge(name: str, move: Any, claimed: float) -> Iterator[tuple[str, str]]:
    fine, coarse = ((move(h) - move(-h)) / (2 * h) for h in (1e-2, 3e-2))
    scale = max(abs(fine), abs(coarse), abs(claimed), 1e-2)
    if abs(fine - coarse) > 0.05 * scale:
        return
    if abs(fine - claimed) > 0.08 * scale + 1e-3:
        yield name, f"a slope of {claimed:.4g} along a random direction, {fine:.4g} by differences"


def _total(lab: Lab, layer: Any, feed: Feed) -> float:
    outputs = lab.infer(layer, feed)
    return sum(
        float(np.sum(y.astype("float64") * project(i, y.shape))) for i, y in enumerate(outputs) if y.dtype.kind == "f"
    )
