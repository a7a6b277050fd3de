"""What the methods of a class run: its own and inherited methods, functions of the file, nested functions."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.files import LOCAL
from layerwright.checks.static.memo import once
from layerwright.checks.static.view import ClassView

# What runs a function outside of the framework: what stands in there is not traced.
HOST_CALLS = frozenset({"numpy_function", "py_function", "py_func", "pure_callback", "io_callback"})
NEVER_IN_CALL = frozenset({"__init__", "build", "build_from_config", "get_config", "from_config"})


@once
def reach(view: ClassView, *methods: str) -> list[Code]:
    """The methods and everything that they run, as far as the file shows; what runs on the host is left out."""
    found: dict[Code, None] = {}
    waiting = [code for code in map(view.method, methods) if code is not None]
    barred = NEVER_IN_CALL - set(methods)
    while waiting:
        code = waiting.pop(0)
        if code in found:
            continue
        found[code] = None
        hosted = set(_hosted(code))
        waiting += [inner for inner in code.nested if inner.node not in hosted and inner.name not in _names(hosted)]
        waiting += [other for call in code.calls for other in _run_by(view, code, call) if other.name not in barred]
    return list(found)


def _run_by(view: ClassView, code: Code, call: ast.Call) -> Iterator[Code]:
    if is_host_call(code.dotted(call.func)):
        return
    for given in [call.func, *call.args, *(k.value for k in call.keywords)]:
        other = target(view, code, given)
        if other is not None:
            yield other


def target(view: ClassView, code: Code, function: ast.AST) -> Code | None:
    """The function of this file that an expression in a function means."""
    dotted = code.dotted(function) or ""
    if dotted.startswith(LOCAL):
        return view.file.functions.get(dotted.removeprefix(LOCAL))
    first, _, name = dotted.partition(".")
    if first == "super":
        outer: Code | None = code
        while outer is not None and outer.owner is None:
            outer = outer.parent
        return view.method(name, outer.owner) if outer is not None else None
    return view.method(name) if first == "self" else None


def calls(view: ClassView, *methods: str) -> Iterator[tuple[Code, ast.Call, str | None]]:
    """Every call that the methods reach, with the dotted name of what is called."""
    for code in reach(view, *methods):
        for call in code.calls:
            yield code, call, code.dotted(call.func)


def is_host_call(dotted: str | None) -> bool:
    """Whether it runs a Python function on the host: `tf.numpy_function`, `jax.pure_callback`."""
    return names.last(dotted) in HOST_CALLS and names.root(dotted) in names.FRAMEWORKS


def _hosted(code: Code) -> Iterator[ast.AST]:
    """The functions that a function hands to the host."""
    for call in code.calls:
        if is_host_call(code.dotted(call.func)):
            yield from call.args[:1]


def _names(nodes: set[ast.AST]) -> set[str]:
    return {node.id for node in nodes if isinstance(node, ast.Name)}
