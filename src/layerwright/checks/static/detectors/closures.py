"""Functions that are made in a loop and share its variable."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.view import ClassView

COMPREHENSIONS = ast.ListComp | ast.DictComp | ast.SetComp
KEEPERS = frozenset({"append", "add", "insert"})


@reads("late-binding-closure")
def late_binding_closure(view: ClassView) -> Iterator[Fault]:
    """Lambdas that are kept, made in a loop, and look up its variable when it is over."""
    for code in (inner for method in view.own.values() for inner in method.everything()):
        if code.name != "<lambda>" or code.parent is None:
            continue
        shared = sorted(_free(code) & _rebound(code.parent, code.node))
        if shared:
            name = shared[0]
            yield Fault(
                f"The source of `{code.said}` makes functions in a loop that share `{name}`, so that all of them use "
                "its last value.",
                code.node,
                f"a value of `{name}` for each function",
                text_of(code.node),
                f"bind it at once with a default, `{name}={name}`, or write a Layer with `{name}` as an argument.",
            )


def _free(code: Code) -> set[str]:
    """The names that a lambda looks up outside."""
    return {n.id for n in code.nodes if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)} - set(code.bound)


def _rebound(outer: Code, node: ast.AST) -> set[str]:
    """The variables of the loops in which a function is made and kept for later; empty where it isn't kept."""
    kept = node
    for around, part in outer.around(node):
        if isinstance(around, COMPREHENSIONS) and not isinstance(part, ast.comprehension):
            return {n.id for made in around.generators for n in ast.walk(made.target) if isinstance(n, ast.Name)}
        if isinstance(around, ast.Call) and part is not around.func and _wraps(outer, around):
            kept = around
        elif isinstance(around, ast.Call) and isinstance(around.func, ast.Attribute) and around.func.attr in KEEPERS:
            return _loop(outer, around) if kept in around.args else set()
        elif isinstance(around, ast.Assign) and any(isinstance(t, ast.Subscript) for t in around.targets):
            return _loop(outer, around) if kept is around.value else set()
        elif not isinstance(around, ast.Tuple | ast.keyword):
            return set()
    return set()


def _wraps(outer: Code, call: ast.Call) -> bool:
    """Whether a call makes an object that keeps the function: a Lambda layer."""
    return names.is_keras(outer.dotted(call.func), "Lambda")


def _loop(outer: Code, node: ast.AST) -> set[str]:
    """The variables of the `for` loops around a node."""
    loops = [around for around, part in outer.around(node) if isinstance(around, ast.For) and part in around.body]
    return {n.id for loop in loops for n in ast.walk(loop.target) if isinstance(n, ast.Name)}
