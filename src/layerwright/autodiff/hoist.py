"""Pass: arrays that are made inside of loops and branches are made once before them, and cleared where they were made.

Backward, an array's content must be there for the round that is undone; one array that is cleared is one variable whose
elements are overwritten, like any other.
"""

from __future__ import annotations

import ast

from layerwright.autodiff import types
from layerwright.autodiff.activity import is_allocation
from layerwright.autodiff.calculus import Calculus
from layerwright.autodiff.program import Program
from layerwright.autodiff.syntax import (
    assign,
    base,
    constant,
    element,
    expression,
    name,
    nodes,
    placed,
    reads,
    refuse,
    walk,
    writes,
)
from layerwright.autodiff.types import Types


def hoist(program: Program, found: Types) -> None:
    """Move every allocation to the top."""
    calculus = Calculus(program, found)
    single = {v: value for v, value in _single(program.body).items() if not found[v].rank}
    out: list[ast.stmt] = []
    for s in program.body:
        if isinstance(s, ast.If | ast.For | ast.While):
            changing = writes([s])
            made = [i for i in walk([s]) if isinstance(i, ast.Assign) and is_allocation(i, calculus)]
            out += [_moved(inner, changing, single) for inner in made]
            s = _cleared(s, program, calculus)
        out.append(s)
    program.body = out


def _single(statements: list[ast.stmt]) -> dict[str, ast.expr]:
    """The values of variables that are assigned once."""
    found: dict[str, list[ast.expr]] = {}
    for s in walk(statements):
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
            found.setdefault(s.targets[0].id, []).append(s.value)
        elif isinstance(s, ast.AugAssign | ast.For):
            found.setdefault(base(s.target), []).extend([ast.Constant(0)] * 2)
    return {v: values[0] for v, values in found.items() if len(values) == 1}


def _moved(s: ast.Assign, changing: set[str], single: dict[str, ast.expr]) -> ast.stmt:
    """An allocation whose size is known before the loop."""
    call = s.value
    for _ in range(20):
        inside = {n for n in reads(call) & changing if not _only_shape(call, n)}
        if not inside:
            return placed(assign(base(s.targets[0]), call), s)  # type: ignore[no-any-return]
        if not inside <= set(single):
            break
        call = expression(ast.unparse(call), **{n: single[n] for n in inside})
    return refuse(s, f"`{base(s.targets[0])}` is made in a loop, and its size changes there.",
           fix="make it before the loop, as large as it gets.")  # fmt: skip


def _only_shape(node: ast.expr, variable: str) -> bool:
    """Whether only the shape or the dtype of a variable is asked for."""
    count = sum(isinstance(n, ast.Name) and n.id == variable for n in nodes(node))
    shapes = sum(
        isinstance(n, ast.Attribute) and n.attr in ("shape", "dtype") and isinstance(n.value, ast.Name)
        and n.value.id == variable
        for n in nodes(node)
    )  # fmt: skip
    return count == shapes


def _cleared(s: ast.stmt, program: Program, calculus: Calculus) -> ast.stmt:
    """A statement in which allocations are loops that write zeros, or nothing for `np.empty`."""
    if isinstance(s, ast.If):
        blocks = [[_cleared(i, program, calculus) for i in block] for block in (s.body, s.orelse)]
        return placed(ast.If(s.test, *blocks), s)  # type: ignore[no-any-return]
    if isinstance(s, ast.For):
        return placed(ast.For(s.target, s.iter, [_cleared(i, program, calculus) for i in s.body], []), s)  # type: ignore[no-any-return]
    if isinstance(s, ast.While):
        return placed(ast.While(s.test, [_cleared(i, program, calculus) for i in s.body], []), s)  # type: ignore[no-any-return]
    if not is_allocation(s, calculus):
        return s
    assert isinstance(s, ast.Assign)
    assert isinstance(s.value, ast.Call)
    if not ast.unparse(s.value.func).endswith("zeros"):
        return placed(ast.Pass(), s)  # type: ignore[no-any-return]
    array = base(s.targets[0])
    kind = calculus.types[array]
    counters = [program.names.fresh("k") for _ in range(kind.rank)]
    calculus.types.update(dict.fromkeys(counters, types.INTEGER))
    zero = constant({"f": 0.0, "i": 0, "b": False}[kind.kind])
    body: list[ast.stmt] = [assign(element(array, *map(name, counters)), zero)]
    for k, counter in reversed(list(enumerate(counters))):
        size = expression("range(a.shape[k])", a=name(array), k=constant(k))
        body = [ast.For(ast.Name(counter, ast.Store()), size, body, [])]
    return placed(body[0], s)  # type: ignore[no-any-return]
