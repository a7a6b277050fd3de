from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.attempt import Attempt
from layerwright.checks.feed import finite
from layerwright.checks.lab import Component, Lab
from layerwright.checks.probes.gradients import Gradient
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import UNKNOWN, Function

# Functions with an infinite slope, or a quotient, at zero.
STEEP = (
    "sqrt",
    "rsqrt",
    "norm",
    "power",
    "pow",
    "log",
    "arccos",
    "arcsin",
    "divide",
    "true_divide",
    "std",
    "normalize",
)


@rule("LW402", "error")
def nonfinite_gradient(lab: Lab) -> Iterator[Finding]:
    """The gradient is NaN or infinite where the output is finite.

    ## What it does
    Differentiates the layer at the inputs that were given, at zeros, and at random ones, and looks at the
    gradients of every weight and input wherever the output is finite.

    ## Why is this bad
    One such step turns the weights into NaN, and everything before the layer with them. A row of zeros
    (padding, a dead unit) is enough.

    ## Example
    ```python
    class Root(layers.Layer):
        def build(self, input_shape):
            self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="gain")

        def call(self, x):
            return ops.sqrt(ops.abs(x)) * self.gain
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Root(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="gain")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.sqrt(ops.abs(x) + 1e-3) * self.gain

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 7898 (the family of distance layers).
    """
    if lab.called.get().layer.compute_dtype in ("float16", "bfloat16"):
        at_zero: Attempt[Gradient] = Attempt(skipped="the layer computes in half precision")
    else:
        at_zero = lab.zero_step
    attempts = {"the given inputs": lab.training_step, "an input of zeros": at_zero}
    attempts |= {"random inputs": lab.random_steps[1]}
    for where, attempt in attempts.items():
        gradient = attempt.value
        if gradient is None or not finite(gradient.step.outputs):
            continue
        bad = [v.path.split("/", 1)[-1] for v, g in gradient.by_weight() if g is not None and not finite([g])]
        if any(g is not None and not finite([g]) for g in gradient.step.inputs):
            bad.append("the input")
        if bad:
            yield _say(lab, where, bad)
            return


def _say(lab: Lab, where: str, bad: list[str]) -> Finding:
    component, function, node = _steep(lab)
    named = ", ".join(name if name == "the input" else f"`{name}`" for name in bad)
    return lab.finding(
        f"At {where} the output of `{component.name}` is finite and its gradient isn't.",
        expected="finite gradients wherever the output is finite",
        got=f"NaN or infinity in the gradient of {named}",
        fix="add a small constant inside the root, the logarithm or the divisor (`ops.sqrt(s + 1e-6)`).",
        at=(function, node) if function is not None and node is not None else component.source.method("call"),
    )


def _steep(lab: Lab) -> tuple[Component, Function | None, ast.AST | None]:
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            name = getattr(target, "__name__", "") if target is not UNKNOWN else getattr(call.func, "attr", "")
            if name in STEEP:
                return component, function, call
    for component in lab.components:
        for function in component.source.reachable("call"):
            for node in function.walk():
                if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div | ast.Pow):
                    return component, function, node
    return lab.components[0], None, None
