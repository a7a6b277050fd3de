"""The tapes of a derived function: an array and a counter for each type of number, and how much room they need."""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
from collections.abc import Callable

import numpy as np

from layerwright.autodiff.indexing import affine, sign
from layerwright.autodiff.program import Program
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    expression,
    name,
    nodes,
    reads,
    stored,
    writes,
)
from layerwright.autodiff.types import Type

Kind = tuple[str, int]
Room = dict[Kind, list[ast.expr]]
_KINDS: dict[Kind, tuple[str, str]] = {
    ("f", 64): ("tape", "float64"),
    ("f", 32): ("tape32", "float32"),
    ("i", 64): ("tape_int", "int64"),
    ("b", 8): ("tape_bool", "bool_"),
}


def kind_of(found: Type) -> Kind:
    """On which tape a number goes."""
    if found.kind == "f":
        return ("f", 32 if found.bits == 32 else 64)
    return ("b", 8) if found.kind == "b" else ("i", 64)


@dataclasses.dataclass
class Tape:
    """One tape: the names of the array and of the counter."""

    array: str
    top: str


class Tapes:
    """The tapes of a function; those that nothing is put on aren't made."""

    def __init__(self, program: Program) -> None:
        self.program = program
        self.used: dict[Kind, Tape] = {}

    def of(self, kind: Kind) -> Tape:
        """The tape for a type."""
        if kind not in self.used:
            array = self.program.names.fresh(_KINDS[kind][0])
            self.used[kind] = Tape(array, self.program.names.fresh(array.replace("tape", "top")))
        return self.used[kind]

    def push(self, kind: Kind, value: ast.expr) -> list[ast.stmt]:
        """Put a value on the tape."""
        tape = self.of(kind)
        place = expression("a[t]", a=name(tape.array), t=name(tape.top))
        return [assign(place, value), ast.AugAssign(ast.Name(tape.top, ast.Store()), ast.Add(), constant(1))]

    def pop(self, kind: Kind, target: ast.expr | None) -> list[ast.stmt]:
        """Take a value from the tape."""
        tape = self.of(kind)
        down = ast.AugAssign(ast.Name(tape.top, ast.Store()), ast.Sub(), constant(1))
        return [down] if target is None else [down, assign(stored(target), self.last(kind))]

    def last(self, kind: Kind) -> ast.expr:
        """What the counter stands at."""
        tape = self.of(kind)
        return expression("a[t]", a=name(tape.array), t=name(tape.top))

    def reserve(self, kind: Kind, count: ast.expr) -> ast.stmt:
        """Make room for so many values more."""
        tape = self.of(kind)
        size = expression("t + n", t=name(tape.top), n=count)
        longer = expression("grow(a, n)", grow=name(self.program.bind("grow", grow)), a=name(tape.array), n=size)
        return conditional(expression("n > a.size", n=size, a=name(tape.array)), [assign(tape.array, longer)])

    def size(self) -> ast.expr:
        """How many bytes they take."""
        total: ast.expr = constant(0)
        for kind, tape in self.used.items():
            total = expression("t + a.size * n", t=total, a=name(tape.array), n=constant(kind[1] // 8))
        return total

    def start(self) -> list[ast.stmt]:
        """The statements that make them, empty."""
        out: list[ast.stmt] = []
        for kind, tape in self.used.items():
            numpy = name(self.program.bind("np", np))
            dtype = ast.Attribute(numpy, _KINDS[kind][1], ast.Load())
            out.append(assign(tape.array, expression("np.empty(0, dtype)", np=numpy, dtype=dtype)))
            out.append(assign(tape.top, constant(0)))
        return out


class Sizes:
    """How many values a loop puts on the tapes, from its bounds.

    Args:
        direct: Counts what statements put there by themselves, loops and their blocks not counted.
    """

    def __init__(self, direct: Callable[[ast.stmt], Counter[Kind]]) -> None:
        self.direct = direct

    def block(self, statements: list[ast.stmt]) -> Counter[Kind]:
        """What a block puts there, without its loops."""
        total: Counter[Kind] = Counter()
        for s in statements:
            total += self.direct(s)
            if isinstance(s, ast.If):
                total += self.block(s.body) | self.block(s.orelse)
        return total

    def room(self, loop: ast.For, ends: Callable[[list[ast.stmt]], Counter[Kind]]) -> Room | None:
        """An upper bound in expressions that are known before the loop; None where there is none."""
        return self.inner(loop, loop, {}, ends)

    def inner(
        self,
        loop: ast.stmt,
        outer: ast.For,
        around: dict[str, ast.For],
        ends: Callable[[list[ast.stmt]], Counter[Kind]],
    ) -> Room | None:
        """The room for a loop inside of others."""
        trips = self.trips(loop, outer, around) if isinstance(loop, ast.For) else None
        if trips is None or not isinstance(loop, ast.For):
            return None
        total = {k: [constant(n)] for k, n in self.whole(loop.body, ends).items() if n}
        for s in self.loops(loop.body):
            more = self.inner(s, outer, {**around, base(loop.target): loop}, ends)
            if more is None:
                return None
            for k, parts in more.items():
                total.setdefault(k, []).extend(parts)
        return {k: [expression("n * m", n=trips, m=_sum(parts))] for k, parts in total.items()}

    def whole(self, statements: list[ast.stmt], ends: Callable[[list[ast.stmt]], Counter[Kind]]) -> Counter[Kind]:
        """What a block and its branches put there, what they put at their ends included."""
        total = ends(statements)
        for s in statements:
            total += self.direct(s)
            if isinstance(s, ast.If):
                total += self.whole(s.body, ends) | self.whole(s.orelse, ends)
        return total

    def loops(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The loops of a block, those in branches too."""
        found: list[ast.stmt] = []
        for s in statements:
            if isinstance(s, ast.For | ast.While):
                found.append(s)
            elif isinstance(s, ast.If):
                found += self.loops([*s.body, *s.orelse])
        return found

    def trips(self, loop: ast.For, outer: ast.For, around: dict[str, ast.For]) -> ast.expr | None:
        """How often a loop runs at most, in what is known before the outer one."""
        arguments = loop.iter.args  # type: ignore[attr-defined]
        if len(arguments) > 2:
            return None if reads(loop.iter) & (writes([outer]) | set(around)) else expression("len(r)", r=loop.iter)
        low = self.bound(arguments[0], outer, around, False) if len(arguments) == 2 else constant(0)
        high = self.bound(arguments[-1], outer, around, True)
        if low is None or high is None:
            return None
        if isinstance(low, ast.Constant) and low.value == 0:
            return expression("max(n, 0)", n=high)
        return expression("max(n - m, 0)", n=high, m=low)

    def bound(self, node: ast.expr, outer: ast.For, around: dict[str, ast.For], upper: bool) -> ast.expr | None:
        """The largest or smallest that an expression gets."""
        inside = reads(node) & writes([outer])
        if loop_reads := [n for n in nodes(node) if isinstance(n, ast.Subscript) and _computed(n)]:
            return None if loop_reads else node
        if not inside:
            return node
        found = affine(node)
        if found is None or found[0] not in around or sign(around[found[0]]) != 1:
            return None
        arguments = around[found[0]].iter.args  # type: ignore[attr-defined]
        shift = found[1] - 1 if upper else found[1]
        first, stop = (arguments[0], arguments[1]) if len(arguments) > 1 else (constant(0), arguments[0])
        limit = stop if upper else first
        edge = self.bound(limit, outer, around, upper)
        return None if edge is None else expression("e + c", e=edge, c=constant(shift)) if shift else edge


def _computed(node: ast.Subscript) -> bool:
    """Whether an index into an array is read, not a shape."""
    return not (isinstance(node.value, ast.Attribute) and node.value.attr == "shape")


def _sum(parts: list[ast.expr]) -> ast.expr:
    total = parts[0]
    for part in parts[1:]:
        total = expression("a + b", a=total, b=part)
    return total
