"""Numbers that float16 doesn't have."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import ZERO_IN_FLOAT16
from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

NEED_GUARD = frozenset({"log", "log2", "log10", "rsqrt", "reciprocal"})
DIVIDE = frozenset({"divide", "true_divide", "div"})
WIDE = frozenset({"float32", "float64"})


@reads("float16-underflow")
def float16_underflow(view: ClassView) -> Iterator[Fault]:
    """`x / (norm + 1e-8)`: the number is zero in float16, and guards nothing."""
    if _stays_wide(view):
        return
    for code, known in traced(view):
        for node in code.nodes:
            value = _guard(known, node)
            if isinstance(node, ast.expr) and value is not None and _is_needed(code, node):
                yield Fault(
                    f"The source of `{code.said}` guards a division or logarithm with {value:g}, which is zero in "
                    "float16.",
                    node,
                    "a number of at least 6e-8, or a computation in float32",
                    text_of(node),
                    "compute the norm or quotient in float32 (`ops.cast(x, 'float32')`) and cast the result back.",
                )


def _stays_wide(view: ClassView) -> bool:
    """Whether the class says anywhere that it computes in float32 or wider, or does so whatever its policy is."""
    nodes = [node for method in view.methods for code in method.everything() for node in code.nodes]
    words = {n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    words |= {n.attr for n in nodes if isinstance(n, ast.Attribute)}
    return bool(WIDE & words) or "autocast" in {n.arg for n in nodes if isinstance(n, ast.keyword)}


def _guard(known: Tensors, node: ast.AST) -> float | None:
    """The number in `tensor + 1e-8` or `maximum(tensor, 1e-8)`, where it is too small."""
    sides: list[ast.expr] = []
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add):
        sides = [node.left, node.right]
    elif isinstance(node, ast.Call) and names.last(known.code.dotted(node.func)) == "maximum" and len(node.args) == 2:
        sides = node.args
    numbers = [s.value for s in sides if isinstance(s, ast.Constant) and isinstance(s.value, float)]
    if len(numbers) == 1 and 0 < abs(numbers[0]) < ZERO_IN_FLOAT16 and any(known.kind(s) == "values" for s in sides):
        return numbers[0]
    return None


def _is_needed(code: Code, node: ast.AST) -> bool:
    """Whether a node is what is divided by, or what a logarithm is taken of, maybe under a root."""
    for outer, part in code.around(node):
        if isinstance(outer, ast.BinOp):
            return isinstance(outer.op, ast.Div) and part is outer.right
        last = names.last(code.dotted(outer.func)) if isinstance(outer, ast.Call) else ""
        if last in NEED_GUARD:
            return True
        if last in DIVIDE and isinstance(outer, ast.Call):
            return len(outer.args) > 1 and part is outer.args[1]
        if last != "sqrt":
            return False
    return False
