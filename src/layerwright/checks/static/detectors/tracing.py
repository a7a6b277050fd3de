"""Python that decides on tensors, or joins them with lists, while `call` is traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.guards import asks_types, by_type
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

JOINS = frozenset({"concat", "concatenate", "hstack"})


@reads("python-branch-on-tensor")
def python_branch_on_tensor(view: ClassView) -> Iterator[Fault]:
    """`if`, `while` or `assert` on the value of a tensor."""
    if view.file.frameworks == {"torch"}:
        return
    for code, known in traced(view):
        for node in code.nodes:
            if not isinstance(node, ast.If | ast.While | ast.IfExp | ast.Assert):
                continue
            if not _decides(known, node.test) or by_type(code, node) or asks_types(code):
                continue
            yield Fault(
                f"The source of `{code.said}` asks Python to decide on the value of a tensor.",
                node.test,
                "a call that can be traced",
                text_of(node.test),
                "choose with `ops.where(condition, a, b)`, or `ops.cond` where only one side may run.",
            )


def _decides(known: Tensors, test: ast.expr) -> bool:
    """Whether a condition needs the value of a tensor: a comparison with one, or a function's result."""
    if isinstance(test, ast.BoolOp):
        return any(_decides(known, value) for value in test.values)
    if isinstance(test, ast.UnaryOp) and isinstance(test.op, ast.Not):
        return _decides(known, test.operand)
    if isinstance(test, ast.Compare) and any(isinstance(op, ast.Eq | ast.NotEq) for op in test.ops):
        sides = [test.left, *test.comparators]
        return known.kind(test) is not None and not any(
            isinstance(side, ast.Name) for side in sides if known.kind(side)
        )
    return isinstance(test, ast.Compare | ast.Call) and known.kind(test) is not None


@reads("list-in-concat")
def list_in_concat(view: ClassView) -> Iterator[Fault]:
    """`concatenate([x, [1.0, 2.0]])`: the list of numbers has no batch axis."""
    for code, known in traced(view):
        for call in code.calls:
            dotted = code.dotted(call.func)
            first = call.args[0] if call.args else None
            if names.last(dotted) not in JOINS or not isinstance(first, ast.List | ast.Tuple):
                continue
            whole = any(isinstance(item, ast.Name) and known.kind(item) == "values" for item in first.elts)
            if whole and any(_is_numbers(item) for item in first.elts) and not by_type(code, call):
                yield Fault(
                    f"The source of `{code.said}` joins a tensor with a Python list, which has no batch axis.",
                    call,
                    "tensors of equal rank",
                    text_of(call),
                    "repeat the constant over the batch with `ops.broadcast_to` before joining.",
                )


def _is_numbers(node: ast.expr) -> bool:
    numbers = isinstance(node, ast.List | ast.Tuple) and bool(node.elts)
    return numbers and all(isinstance(e, ast.Constant) and isinstance(e.value, int | float) for e in node.elts)  # type: ignore[attr-defined]
