"""Sizes that aren't known while `call` is traced."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import constant, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.guards import asks_types, by_type
from layerwright.checks.static.tensors import Tensors, traced
from layerwright.checks.static.view import ClassView

# Functions that take sizes, with the place of the argument that holds them.
TAKE_SIZES = {
    "reshape": 1, "broadcast_to": 1, "zeros": 0, "ones": 0, "full": 0, "empty": 0, "eye": 0, "tile": 1, "repeat": 1,
    "fill": 0, "normal": 0, "uniform": 0,
}  # fmt: skip


@reads("static-batch")
def static_batch(view: ClassView) -> Iterator[Fault]:
    """`ops.reshape(x, (x.shape[0], -1))`: the size of the batch is None while the call is traced."""
    for code, known in _open(view):
        for call in code.calls:
            place = TAKE_SIZES.get(names.last(code.dotted(call.func)))
            if place is None or names.root(code.dotted(call.func)) not in ("keras", "tensorflow", "jax"):
                continue
            given = [
                *call.args[place : place + 1],
                *(k.value for k in call.keywords if k.arg in ("shape", "newshape", "repeats")),
            ]
            sizes = [
                size for value in given for size in (value.elts if isinstance(value, ast.Tuple | ast.List) else [value])
            ]
            if any(_is_batch(known, size) for size in sizes) and not by_type(code, call):
                yield Fault(
                    f"The source of `{code.said}` uses the size of the batch as a Python number; while it is traced, "
                    "it is None.",
                    call,
                    "a call that can be traced",
                    text_of(call),
                    "write -1 for the batch in `ops.reshape`, or take the size from `ops.shape(x)[0]`.",
                )


@reads("loop-over-batch")
def loop_over_batch(view: ClassView) -> Iterator[Fault]:
    """`for i in range(x.shape[0])`."""
    for code, known in _open(view):
        for node in code.nodes:
            loop = node.iter if isinstance(node, ast.For | ast.comprehension) else None
            if not isinstance(loop, ast.Call) or code.dotted(loop.func) != "builtins.range" or len(loop.args) != 1:
                continue
            if _is_batch(known, loop.args[0]) and not by_type(code, loop):
                yield Fault(
                    f"The source of `{code.said}` loops over the batch in Python; while it is traced, the size of "
                    "the batch is None.",
                    loop,
                    "a call that can be traced",
                    text_of(loop),
                    "compute on the whole batch at once, or use `ops.map` or `ops.vectorized_map`.",
                )


def _open(view: ClassView) -> Iterator[tuple[Code, Tensors]]:
    """`call` itself, where it is traced with an open batch and never asks whether a size is None."""
    declared = view.method("compute_output_shape") or view.method("compute_output_spec")
    if view.file.frameworks == {"torch"} or "batch_size" in view.attributes or declared is not None:
        return
    for code, known in traced(view):
        if code is view.method("call") and not asks_types(code) and not any(_asks_none(node) for node in code.nodes):
            yield code, known


def _asks_none(node: ast.AST) -> bool:
    if not isinstance(node, ast.Compare):
        return False
    sides = [node.left, *node.comparators]
    return any(isinstance(s, ast.Constant) and s.value is None for s in sides) and "shape" in ast.unparse(node)


def _is_batch(known: Tensors, node: ast.AST) -> bool:
    """Whether an expression is `x.shape[0]` of the very tensor that `call` was given."""
    if isinstance(node, ast.Name):
        values = known.code.bound.get(node.id, [])
        return len(values) == 1 and values[0] is not None and _is_batch(known, values[0])
    if not isinstance(node, ast.Subscript) or constant(node.slice) != 0 or not isinstance(node.value, ast.Attribute):
        return False
    owner = node.value.value
    whole = isinstance(owner, ast.Name) and known.kind(owner) == "values" and known.is_input(owner.id)
    return node.value.attr == "shape" and whole
