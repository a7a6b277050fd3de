"""Reductions over the batch, which mix rows that must be kept apart."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

REDUCE = frozenset({"mean", "sum", "max", "min", "std", "var", "amax", "amin"})
REDUCE |= {f"reduce_{name}" for name in ("mean", "sum", "max", "min", "std", "variance")}


@reads("batch-dependence")
def batch_dependence(view: ClassView) -> Iterator[Fault]:
    """`x - ops.mean(x)`: without an axis, the mean is that of the whole batch."""
    for code, known in traced(view):
        for node in code.nodes if code is view.method("call") else ():
            if not isinstance(node, ast.BinOp):
                continue
            for whole, part in ((node.left, node.right), (node.right, node.left)):
                if (
                    _is_input(known, whole)
                    and isinstance(part, ast.Call)
                    and reduces(known, part)
                    and not axis_of(part)
                ):
                    yield Fault(
                        f"The source of `{code.said}` computes each row with `{text_of(part)}`, which is taken over "
                        "the whole batch.",
                        node,
                        "rows that don't depend on each other",
                        text_of(node),
                        "reduce over the axes of a row: `axis=-1`.",
                    )


def _is_input(known: Tensors, node: ast.AST) -> bool:
    """Whether a node is the argument of `call` by its name."""
    return isinstance(node, ast.Name) and known.is_given(node.id)


def reduces(known: Tensors, call: ast.Call) -> bool:
    """Whether a call reduces the very input."""
    dotted = known.code.dotted(call.func)
    ours = names.root(dotted) in ("keras", "tensorflow", "jax") and names.last(dotted) in REDUCE
    return ours and bool(call.args) and _is_input(known, call.args[0])


def axis_of(call: ast.Call) -> ast.expr | None:
    """The axis that a reduction is given."""
    return call.args[1] if len(call.args) > 1 else keyword(call, "axis")
