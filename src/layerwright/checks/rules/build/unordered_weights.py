from __future__ import annotations

import ast
from collections.abc import Iterator

import keras

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import CONSTRUCTION, place_of, users
from layerwright.checks.source import Function
from layerwright.checks.walk import held

MAKERS = ("add_weight", "add_variable")


@rule("LW212", "error", hides=("reload-differs",))
def unordered_weights(lab: Lab) -> Iterator[Finding]:
    """Layers or weights are kept in a set, or made in the order of one.

    ## What it does
    Looks for a set that holds two or more layers or variables with weights, and for a loop of `__init__` or
    `build` over a set that makes some.

    ## Why is this bad
    A set has another order in another process. A file numbers the weights in the order in which they were
    tracked, so that loading gives the first layer the weights of the second, without a message where the shapes
    agree; in the layer itself the order of application changes.

    ## Example
    ```python
    class Paths(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.paths = {layers.Dense(4, dtype=self.dtype_policy), layers.Dense(4, dtype=self.dtype_policy)}

        def build(self, input_shape):
            for path in self.paths:
                path.build(input_shape)

        def call(self, x):
            return sum(path(x) for path in self.paths)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Paths(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.paths = [layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable) for _ in range(2)]

        def build(self, input_shape):
            for path in self.paths:
                path.build(input_shape)

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return sum(path(x) for path in self.paths)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Source
    keras, `saving/saving_lib.py`: `_save_container_state` names what a container holds in the order of iteration.
    """
    for component in users(lab):
        for item in held(component.layer):
            if isinstance(item.value, set | frozenset):
                inside = [x for x in item.value if isinstance(x, keras.layers.Layer | keras.Variable)]
                if len(inside) > 1 and any(not isinstance(x, keras.layers.Layer) or x.variables for x in inside):
                    yield _finding(lab, component, f"`self.{item.path}`", "keeps", place_of(component, item.attribute))
        for function in component.source.reachable(*CONSTRUCTION):
            yield from _loops(lab, component, function)


def _loops(lab: Lab, component: Component, function: Function) -> Iterator[Finding]:
    for node in function.walk():
        if (
            isinstance(node, ast.For)
            and _is_set(node.iter)
            and any(_makes(component, function, n) for n in ast.walk(node))
        ):
            yield _finding(lab, component, f"a loop over `{ast.unparse(node.iter)}`", "makes", (function, node))


def _is_set(node: ast.expr) -> bool:
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id in ("set", "frozenset"):
        return True
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "enumerate" and node.args:
        return _is_set(node.args[0])
    return isinstance(node, ast.Set | ast.SetComp) and not (isinstance(node, ast.Set) and len(node.elts) < 2)


def _makes(component: Component, function: Function, node: ast.AST) -> bool:
    if not isinstance(node, ast.Call):
        return False
    if isinstance(node.func, ast.Attribute) and node.func.attr in MAKERS:
        return function.resolve(node.func.value, component.layer) is component.layer
    target = function.resolve(node.func, component.layer)
    return isinstance(target, type) and issubclass(target, keras.layers.Layer | keras.Variable)


def _finding(lab: Lab, component: Component, what: str, verb: str, at: object) -> Finding:
    return lab.finding(
        f"{what} in `{component.name}` {verb} layers or weights in the order of a set, which differs between processes."
        if verb == "keeps"
        else f"{what[0].upper()}{what[1:]} in `{component.name}` makes layers or weights in an order that differs between processes.",
        expected="the same order in every process",
        got="the order of hash values",
        fix="use a list, or `sorted(...)`.",
        at=at,  # type: ignore[arg-type]
    )
