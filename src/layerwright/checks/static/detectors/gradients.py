"""Operations that a gradient doesn't pass, or passes as NaN."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import constant, keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.detectors.host import GRADIENTS
from layerwright.checks.static.reach import reach
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

BLOCKS = frozenset({"argmax", "argmin", "argsort", "round", "floor", "ceil", "sign", "rint"})
SPACES = ("keras", "tensorflow", "jax")


@reads("no-gradient")
def no_gradient(view: ClassView) -> Iterator[Fault]:
    """A trainable weight that reaches the output only through `argmax`, `round` and the like."""
    if GRADIENTS & view.file.decorators or not view.plain:
        return
    for store in view.stores:
        call = store.value
        if (
            store.makers != {"self.add_weight"}
            or not isinstance(call, ast.Call)
            or len(view.attributes[store.name]) > 1
        ):
            continue
        if (
            keyword(call, "trainable") is not None
            or not all(k.arg for k in call.keywords)
            or keyword(call, "dtype") is not None
        ):
            continue
        used = [(code, node) for code in reach(view, "call") for node in code.nodes if _reads(code, node, store.name)]
        blocks = [_blocked(code, node) for code, node in used]
        first = next(iter(blocks), None)
        if first is not None and None not in blocks and len(used) == _mentions(view, store.name):
            yield Fault(
                f"The source of `{used[0][0].said}` uses `self.{store.name}` only inside `{text_of(first.func)}`, "
                "which no gradient passes.",
                first,
                "a gradient for every trainable weight",
                text_of(first),
                "use a differentiable form, or a straight-through estimator: `y + ops.stop_gradient(ops.round(y) - "
                "y)`.",
            )


def _reads(code: Code, node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load) and code.dotted(node) == f"self.{name}"


def _mentions(view: ClassView, name: str) -> int:
    """How often the class reads an attribute, outside of its construction too."""
    codes = (code for method in view.methods for code in method.everything())
    return sum(_reads(code, node, name) for code in codes for node in code.nodes)


def _blocked(code: Code, node: ast.AST) -> ast.Call | None:
    """The call around a node that no gradient passes."""
    for outer, part in code.around(node):
        dotted = code.dotted(outer.func) if isinstance(outer, ast.Call) and part is not outer.func else None
        if isinstance(outer, ast.Call) and names.root(dotted) in SPACES and names.last(dotted) in BLOCKS:
            return outer
    return None


@reads("nonfinite-gradient")
def nonfinite_gradient(view: ClassView) -> Iterator[Fault]:
    """The root of a sum of squares, or of an absolute value: its gradient at zero is NaN."""
    for code, known in traced(view):
        for call in code.calls:
            if _is(code, call, "sqrt") and _squares(known, call.args[0]) and not _stopped(code, call):
                yield Fault(
                    f"The source of `{code.said}` takes a root of what is zero for an input of zeros: its "
                    "gradient is NaN there.",
                    call,
                    "a finite gradient for an input of zeros",
                    text_of(call),
                    "add a small number inside the root: `ops.sqrt(ops.sum(ops.square(x), axis=-1) + 1e-6)`.",
                )


def _is(code: Code, node: ast.AST, *known: str) -> bool:
    """Whether a node is the call of a framework's function of one of these names, with an argument."""
    dotted = code.dotted(node.func) if isinstance(node, ast.Call) and node.args else None
    return dotted is not None and names.root(dotted) in SPACES and names.last(dotted) in known


def _squares(known: Tensors, node: ast.AST) -> bool:
    """Whether an expression is a sum of squares, or the absolute value or the square of a tensor."""
    if isinstance(node, ast.Call) and _is(known.code, node, "abs", "square"):
        return known.kind(node.args[0]) == "values"
    if not isinstance(node, ast.Call) or not _is(known.code, node, "sum", "reduce_sum", "mean", "reduce_mean"):
        return False
    inner = node.args[0]
    if isinstance(inner, ast.Call) and _is(known.code, inner, "square"):
        return known.kind(inner.args[0]) == "values"
    if isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Pow) and constant(inner.right) in (2, 2.0):
        return known.kind(inner.left) == "values"
    same = isinstance(inner, ast.BinOp) and isinstance(inner.op, ast.Mult)
    return same and ast.dump(inner.left) == ast.dump(inner.right) and known.kind(inner.left) == "values"  # type: ignore[attr-defined]


def _stopped(code: Code, node: ast.AST) -> bool:
    return any(_is(code, outer, "stop_gradient") for outer, _ in code.around(node))
