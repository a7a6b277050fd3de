from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import UNKNOWN, Function, constant, function_of, keyword, text_of

CONTROL = {
    "cond",
    "while_loop",
    "scan",
    "fori_loop",
    "switch",
    "map",
    "vectorized_map",
    "associative_scan",
    "rnn",
    "vmap",
    "jit",
    "remat",
    "checkpoint",
    "grad",
    "value_and_grad",
}
CHANGES = {"assign", "assign_add", "assign_sub", "update_state", "add_loss"}
SYMPTOMS = (
    "call-not-traceable", "graph-differs", "python-branch-on-tensor", "output-shape-mismatch",
    "no-compute-output-shape",
)  # fmt: skip


@rule("LW717", "error", backends=("jax",), hides=SYMPTOMS)
def state_in_branch(lab: Lab) -> Iterator[Finding]:
    """State changes inside a branch or a loop body, which JAX traces on its own.

    ## What it does
    Where a call fails with a leaked tracer, looks for what changes state inside a function that is given to
    `ops.cond`, `ops.scan`, `ops.while_loop`, ...: a draw from a seed generator, `assign`, a layer with state.

    ## Why is this bad
    JAX traces the body as a function of its own. A value that is assigned in there can't be used outside of it:
    the seed's next state, or the new statistics, are tracers that have died.

    ## Example
    ```python
    class Maybe(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.seed_generator = keras.random.SeedGenerator(1)

        def call(self, x, training=None):
            if not training:
                return x
            return ops.cond(
                ops.mean(x) > 0,
                lambda: x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator),
                lambda: x,
            )
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Maybe(keras.layers.Layer):
        def __init__(self, seed=None, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.seed = seed
            self.seed_generator = keras.random.SeedGenerator(seed)

        def call(self, x, training=None):
            if not training:
                return x
            noise = keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator)
            return ops.where(ops.mean(x, axis=-1, keepdims=True) > 0, x + noise, x)

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "seed": self.seed}
    ```

    ## Source
    Keras issues 20724 and 18404.
    """
    found = [
        (call, *change)
        for component in lab.components
        for function, call, target in component.source.calls("call")
        if _controls(target)
        for change in _changes(function, call, component)
    ]
    if not found or not any(_leaked(failure) for failure in _failures(lab)):
        return
    for call, inner, node, what in found:
        yield lab.finding(
            f"{what} inside a function that `{text_of(call.func)}` runs leaves a tracer behind.",
            expected="state changes outside of branches and loop bodies",
            got=text_of(node),
            fix=f"do it before `{text_of(call.func)}` and use the result inside.",
            at=(inner, node),
        )


def _failures(lab: Lab) -> Iterator[Failure]:
    for probe in (lab.called, lab.compiled, lab.training_step, lab.in_training, lab.symbolic, lab.inner_symbolic):
        if probe.failure is not None:
            yield probe.failure


def _leaked(failure: Failure) -> bool:
    return failure.kind == "UnexpectedTracerError" or failure.mentions("UnexpectedTracer", "leaked", "side effect")


def _controls(target: Any) -> bool:
    module = (getattr(target, "__module__", None) or "").split(".")[0]
    return module in ("keras", "jax") and getattr(target, "__name__", "") in CONTROL


def _changes(function: Function, call: ast.Call, component: Component) -> Iterator[tuple[Function, ast.AST, str]]:
    given = [*call.args, *(k.value for k in call.keywords)]
    for body in given:
        for inner, node in _bodies(function, body, component, 0):
            what = _change(inner, node, component)
            if what:
                yield inner, node, what


def _bodies(function: Function, body: ast.AST, component: Component, depth: int) -> Iterator[tuple[Function, ast.Call]]:
    """Every call in a function that is passed on: a lambda, a nested function, a method, a `partial` of one."""
    if depth > 4:
        return
    if isinstance(body, ast.List | ast.Tuple):
        for item in body.elts:
            yield from _bodies(function, item, component, depth)
        return
    if (
        isinstance(body, ast.Call)
        and getattr(body.func, "attr", getattr(body.func, "id", "")) == "partial"
        and body.args
    ):
        body = body.args[0]
    nodes: list[ast.AST] = []
    inner = function
    if isinstance(body, ast.Lambda):
        nodes = [body.body]
    elif isinstance(body, ast.Name | ast.Attribute):
        name = body.id if isinstance(body, ast.Name) else body.attr
        local = [n for n in ast.walk(function.node) if isinstance(n, ast.FunctionDef) and n.name == name]
        if isinstance(body, ast.Name) and local:
            nodes = list(local[0].body)
        else:
            live = function.resolve(body, component.layer)
            found = component.source.method(name) if isinstance(body, ast.Attribute) else None
            found = found or (function_of(live) if live is not UNKNOWN and callable(live) else None)
            if found is not None and component.source.home(found.path):
                inner, nodes = found, list(found.node.body) if isinstance(found.node.body, list) else [found.node.body]
    for node in (n for top in nodes for n in ast.walk(top)):
        if isinstance(node, ast.Call):
            yield inner, node
            if isinstance(node.func, ast.Name | ast.Attribute):
                yield from _bodies(inner, node.func, component, depth + 1)


def _change(function: Function, call: ast.Call, component: Component) -> str | None:
    name = call.func.attr if isinstance(call.func, ast.Attribute) else ""
    if name in CHANGES:
        return f"`{text_of(call.func)}`"
    target = function.resolve(call.func, component.layer)
    module = getattr(target, "__module__", None) or ""
    if module.startswith("keras") and ".random" in module and not isinstance(target, type):
        seed = keyword(call, "seed")
        return "A draw from a seed generator" if seed is not None and constant(seed) is UNKNOWN else None
    if isinstance(target, keras.layers.Layer) and target is not component.layer and target.non_trainable_variables:
        return f"A call of `{text_of(call.func)}`, which has state,"
    return None
