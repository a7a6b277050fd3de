"""What the indices of array elements say: which are certainly different, and whether an old value is ever needed again.

Only indices of the form `variable + constant` are understood; of all others the worst is assumed.
"""

from __future__ import annotations

import ast
import dataclasses

from layerwright.autodiff.activity import Traded, traded
from layerwright.autodiff.syntax import base, constant, indices, loaded, nodes, walk

Affine = tuple[str, int] | None


def affine(node: ast.expr) -> Affine:
    """`(variable, constant)` of `variable + constant`; the variable is empty for a constant."""
    if isinstance(node, ast.Name):
        return node.id, 0
    if isinstance(node, ast.Constant) and isinstance(node.value, int):
        return "", node.value
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return ("", -node.operand.value) if isinstance(node.operand.value, int) else None
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
        left, right = affine(node.left), affine(node.right)
        if left is not None and right is not None and not right[0]:
            return left[0], left[1] + (right[1] if isinstance(node.op, ast.Add) else -right[1])
        if left is not None and right is not None and not left[0] and isinstance(node.op, ast.Add):
            return right[0], left[1] + right[1]
    return None


def lowest(statements: list[ast.stmt]) -> dict[str, int]:
    """A bound from below for loop variables, as far as the loops say it: a negative index counts from the end."""
    found: dict[str, int] = {}
    for s in walk(statements):
        if isinstance(s, ast.For) and (step := sign(s)):
            arguments = s.iter.args  # type: ignore[attr-defined]
            first = arguments[0] if len(arguments) > 1 else constant(0)
            # Downwards the end isn't reached: `range(n - 1, -1, -1)` goes to 0.
            start = affine(first if step > 0 else arguments[1])
            if start is not None and (not start[0] or start[0] in found):
                found[base(s.target)] = found.get(start[0], 0) + start[1] + (step < 0)
    return found


def sign(loop: ast.stmt) -> int | None:
    """The sign of a loop's step; None where it isn't known."""
    if not isinstance(loop, ast.For):
        return None
    arguments = loop.iter.args  # type: ignore[attr-defined]
    if len(arguments) < 3:
        return 1
    try:
        step = ast.literal_eval(arguments[2])
    except ValueError:
        return None
    return (step > 0) - (step < 0) or None


def from_start(index: Affine, low: dict[str, int]) -> bool:
    """Whether an index certainly counts from the start."""
    return index is not None and (index[1] >= 0 if not index[0] else index[0] in low and low[index[0]] + index[1] >= 0)


def distinct(a: ast.Subscript, b: ast.Subscript, low: dict[str, int]) -> bool:
    """Whether two elements of an array are certainly not the same, all variables having the same values."""
    for x, y in zip(map(affine, indices(a)), map(affine, indices(b)), strict=True):
        if x and y and x[0] == y[0] and x[1] != y[1] and from_start(x, low) and from_start(y, low):
            return True
    return False


@dataclasses.dataclass
class Access:
    """An element that is read or written, when in the text, and in which loops."""

    node: ast.Subscript
    order: int
    loops: tuple[ast.For | ast.While, ...]
    statement: ast.stmt


class Accesses:
    """Every access to an element in a program."""

    def __init__(self, statements: list[ast.stmt], arrays: set[str]) -> None:
        self.reads: list[Access] = []
        self.writes: list[Access] = []
        self.arrays = arrays
        self.trades = Traded(statements)
        self.traded = {v for v in arrays if len(self.trades.group(v)) > 1}
        self.low = lowest(statements)
        self.order = 0
        self.block(statements, ())

    def block(self, statements: list[ast.stmt], loops: tuple[ast.For | ast.While, ...]) -> None:
        """Look at a block inside of loops."""
        for s in statements:
            self.order += 1
            if isinstance(s, ast.If):
                self.expression(s.test, s, loops)
                self.block(s.body, loops)
                self.block(s.orelse, loops)
            elif isinstance(s, ast.For):
                self.expression(s.iter, s, loops)
                self.block(s.body, (*loops, s))
            elif isinstance(s, ast.While):
                self.expression(s.test, s, (*loops, s))
                self.block(s.body, (*loops, s))
            elif isinstance(s, ast.Assign | ast.AugAssign) and not traded(s):
                target = s.target if isinstance(s, ast.AugAssign) else s.targets[0]
                self.expression(s.value, s, loops)
                if isinstance(target, ast.Subscript):
                    self.expression(target.slice, s, loops)
                    if isinstance(s, ast.AugAssign):
                        self.reads.append(Access(loaded(target), self.order, loops, s))  # type: ignore[arg-type]
                    self.writes.append(Access(target, self.order, loops, s))
            else:
                self.expression(s, s, loops)

    def expression(self, node: ast.AST, s: ast.stmt, loops: tuple[ast.For | ast.While, ...]) -> None:
        """Note what an expression reads."""
        for n in nodes(node):
            if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in self.arrays:
                self.reads.append(Access(n, self.order, loops, s))


def written_once(accesses: Accesses, empty: set[str]) -> set[str]:
    """The arrays whose every element is written at most once, and has no value before.

    Args:
        accesses: The program's.
        empty: The arrays without content at first: outputs, and those made by `np.empty`.
    """
    found = set()
    for array in empty - accesses.traded:
        writes = [w for w in accesses.writes if base(w.node) == array]
        if len(writes) == 1 and isinstance(writes[0].statement, ast.Assign) and _injective(writes[0], accesses.low):
            found.add(array)
    return found


def _injective(write: Access, low: dict[str, int]) -> bool:
    """Whether each round of the loops writes another element: every loop's variable is an index, plus a constant."""
    found = {a[0] for i in indices(write.node) if from_start(a := affine(i), low) and a}
    return all(isinstance(x, ast.For) and base(x.target) in found for x in write.loops)


def never_read_before(accesses: Accesses) -> set[int]:
    """The assignments of elements whose old value nothing has read: it needn't be brought back.

    A scan, or a table that is filled in order, reads what is written already: in the loops that both are in, an element
    is read in a later round than it is written, or later in the same round.
    """
    found = set()
    for write in accesses.writes:
        if base(write.node) in accesses.traded or isinstance(write.statement, ast.AugAssign):
            continue
        if not write.loops or not all(map(sign, write.loops)) or not _injective(write, accesses.low):
            continue
        readers = [r for r in accesses.reads if base(r.node) == base(write.node)]
        if all(_after(r, write, accesses.low) for r in readers):
            found.add(id(write.statement))
    return found


def _after(read: Access, write: Access, low: dict[str, int]) -> bool:
    """Whether a read of an element certainly comes after its write, where it is the same element."""
    if not read.loops or read.loops[0] is not write.loops[0]:
        return read.order > write.order
    places = [affine(i) for i in indices(write.node)]
    for loop in write.loops:
        variable = base(loop.target)  # type: ignore[union-attr]
        k = next(k for k, a in enumerate(places) if a and a[0] == variable)
        mine, other = places[k], affine(indices(read.node)[k])
        if (
            loop not in read.loops
            or mine is None
            or other is None
            or other[0] != variable
            or not from_start(other, low)
        ):
            return False
        ahead = (mine[1] - other[1]) * (sign(loop) or 0)
        if ahead:
            # What this round writes is read so many rounds later, or was read so many before.
            return ahead > 0
    return read.order > write.order
