from __future__ import annotations

import ast
from collections import defaultdict
from collections.abc import Iterator
from types import FunctionType
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import Function, function_of
from layerwright.checks.walk import held

COMPREHENSIONS = ast.ListComp | ast.DictComp | ast.SetComp
LOOPS = ast.For | ast.AsyncFor | ast.While


@rule("LW125", "error", hides=("lambda-captures-state", "config-lambda"))
def late_binding_closure(lab: Lab) -> Iterator[Finding]:
    """Functions that were made in a loop all see the last value of its variable.

    ## What it does
    Looks at the functions that the layer and its `Lambda` layers hold, and at those that `call` collects: several
    that were made on one line, use a variable of the loop around it, and share it.

    ## Why is this bad
    Python looks the variable up when the function is called, and by then the loop is over. All of them use
    its last value. Nothing is said.

    ## Example
    ```python
    class Columns(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.picks = [lambda x: x[:, k : k + 1] for k in range(3)]

        def call(self, x):
            return ops.concatenate([pick(x) for pick in self.picks], axis=-1)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_late_binding_closure")
    class Columns(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.picks = [lambda x, k=k: x[:, k : k + 1] for k in range(3)]

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.concatenate([pick(x) for pick in self.picks], axis=-1)

        def compute_output_shape(self, input_shape):
            return (input_shape[0], 3)
    ```

    ## Source
    Keras issue 13574.
    """
    shown: set[int] = set()
    for function, name in (*_held(lab), *_collected(lab)):
        if id(function.node) in shown:
            continue
        shown.add(id(function.node))
        yield lab.finding(
            f"Functions made in a loop share `{name}`, so that all of them use its last value.",
            expected=f"a value of `{name}` for each function",
            got=f"one variable `{name}`, looked up when the function is called",
            fix=f"bind it at once with a default, `{name}={name}`, or write a Layer with `{name}` as an argument.",
            at=(function, function.node),
        )


def _held(lab: Lab) -> Iterator[tuple[Function, str]]:
    """Functions that are held and share a variable of a loop, with its name."""
    groups: dict[Any, list[FunctionType]] = defaultdict(list)
    for live in _functions(lab.layer):
        if all(live is not other for other in groups[live.__code__]):
            groups[live.__code__].append(live)
    for group in groups.values():
        found = function_of(group[0])
        if found is None or len(group) < 2 or not lab.home(found.path):
            continue
        for name in _loop_names(found):
            if name in group[0].__code__.co_names or _is_shared(group, name):
                yield found, name


def _functions(layer: Any) -> Iterator[FunctionType]:
    for owner in (layer, *internals.sublayers(layer)) if layer is not None else ():
        if isinstance(owner, keras.layers.Lambda) and isinstance(owner.function, FunctionType):
            yield owner.function
        for item in held(owner):
            if isinstance(item.value, FunctionType):
                yield item.value
            elif isinstance(item.value, keras.layers.Lambda) and isinstance(item.value.function, FunctionType):
                yield item.value.function


def _is_shared(group: list[FunctionType], name: str) -> bool:
    """Whether at least two of the functions have one cell for a variable."""
    cells = [
        f.__closure__[f.__code__.co_freevars.index(name)]
        for f in group
        if name in f.__code__.co_freevars and f.__closure__
    ]
    return len({id(cell) for cell in cells}) < len(cells)


def _collected(lab: Lab) -> Iterator[tuple[Function, str]]:
    """Functions that a method puts into a list or dict, inside a loop whose variable they use."""
    for component in lab.components:
        for outer in component.source.reachable("__init__", "build", "call"):
            for node in outer.walk():
                if isinstance(node, ast.Lambda) and _is_kept(outer, node):
                    function = Function(node, outer.file)
                    for name in _loop_names(function):
                        yield function, name


def _is_kept(outer: Function, node: ast.Lambda) -> bool:
    """Whether a lambda is the very element of a comprehension, or is appended to a list or stored in a dict."""
    parent = outer.file.parents.get(node)
    if isinstance(parent, COMPREHENSIONS):
        return node is (parent.value if isinstance(parent, ast.DictComp) else parent.elt)
    if isinstance(parent, ast.Call):
        return isinstance(parent.func, ast.Attribute) and parent.func.attr == "append" and node in parent.args
    return isinstance(parent, ast.Assign) and any(isinstance(t, ast.Subscript) for t in parent.targets)


def _loop_names(function: Function) -> list[str]:
    """The names that a function uses, doesn't bind itself, and that a loop around it rebinds."""
    bound = function.assigned
    used = {n.id for n in function.walk() if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - bound
    rebound: set[str] = set()
    child: ast.AST = function.node
    parent = function.file.parents.get(child)
    while parent is not None and not isinstance(
        parent, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef | ast.Lambda
    ):
        if isinstance(parent, COMPREHENSIONS):
            rebound |= {name for made in parent.generators for name in _stored(made.target)}
        elif isinstance(parent, LOOPS):
            rebound |= {name for inner in ast.walk(parent) for name in _stored(inner)}
        child, parent = parent, function.file.parents.get(parent)
    return sorted(used & rebound)


def _stored(node: ast.AST) -> Iterator[str]:
    for inner in ast.walk(node) if isinstance(node, ast.Name | ast.Tuple | ast.List | ast.Starred) else ():
        if isinstance(inner, ast.Name) and isinstance(inner.ctx, ast.Store):
            yield inner.id
