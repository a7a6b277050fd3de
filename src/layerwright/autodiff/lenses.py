"""Rows, columns and slices of arrays: how an index into a part becomes one into the whole.

A variable that holds a part of an array (`row = x[i]`, `v = x[a:b]`) has no memory of its own, so that its elements are
read and written, and differentiated, as elements of the whole. Nothing is left of such variables afterwards.
"""

from __future__ import annotations

import ast
import dataclasses

from layerwright.autodiff.syntax import constant, expression, name, refuse, text


@dataclasses.dataclass(frozen=True)
class Axis:
    """A dimension of a part: its first index in the whole, the step, how many; all of it where `start` is None."""

    length: ast.expr
    start: ast.expr | None = None
    step: int = 1


@dataclasses.dataclass(frozen=True)
class Lens:
    """A part of an array: for every dimension of the whole an index, or an axis that is left."""

    array: str
    parts: tuple[ast.expr | Axis, ...]

    @property
    def axes(self) -> list[Axis]:
        """The dimensions that are left."""
        return [p for p in self.parts if isinstance(p, Axis)]

    @property
    def rank(self) -> int:
        """How many there are."""
        return len(self.axes)

    def element(self, index: list[ast.expr]) -> ast.Subscript:
        """The element of the whole for an index into the part."""
        left = list(index)
        whole = [_shifted(p, left.pop(0)) if isinstance(p, Axis) else p for p in self.parts]
        return ast.Subscript(
            name(self.array), whole[0] if len(whole) == 1 else ast.Tuple(whole, ast.Load()), ast.Load()
        )

    def taken(self, index: list[ast.expr], bounds: Bounds) -> Lens:
        """The part of this part that an index takes, which may hold slices; the last axes may be left out."""
        left, parts = list(index), list(self.parts)
        for k, part in enumerate(self.parts):
            if isinstance(part, Axis) and left:
                one = left.pop(0)
                parts[k] = bounds.sliced(part, one) if isinstance(one, ast.Slice) else bounds.fixed(part, one)
        if left:
            refuse(left[0], f"`{self.array}` has fewer dimensions than the index.", fix="leave an index out.")
        return Lens(self.array, tuple(parts))


def whole(array: str, rank: int) -> Lens:
    """All of an array."""
    sizes = [expression("a.shape[k]", a=name(array), k=constant(k)) for k in range(rank)]
    return Lens(array, tuple(Axis(size) for size in sizes))


def _shifted(axis: Axis, index: ast.expr) -> ast.expr:
    """An index that is known not to be negative, along an axis."""
    if axis.start is None:
        return index
    moved = index if axis.step == 1 else expression("i * s", i=index, s=constant(axis.step))
    if isinstance(axis.start, ast.Constant) and axis.start.value == 0:
        return moved
    if isinstance(index, ast.Constant) and index.value == 0:
        return axis.start
    return expression("a + i", a=axis.start, i=moved)


class Bounds:
    """What is known of the signs of integers.

    Args:
        counters: Variables that are never negative.
    """

    def __init__(self, counters: set[str]) -> None:
        self.counters = counters

    def positive(self, node: ast.expr) -> bool:
        """Whether an integer is certainly not negative."""
        if isinstance(node, ast.Constant):
            return isinstance(node.value, int) and node.value >= 0
        if isinstance(node, ast.Name):
            return node.id in self.counters
        if isinstance(node, ast.BinOp):
            both = self.positive(node.left) and self.positive(node.right)
            return both and isinstance(node.op, ast.Add | ast.Mult | ast.FloorDiv | ast.Mod)
        return isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape"

    def from_end(self, node: ast.expr, length: ast.expr) -> ast.expr:
        """An index as one from the start."""
        if self.positive(node):
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and self.positive(node.operand):
            return expression("n - i", n=length, i=node.operand)
        return expression("i if i >= 0 else i + n", i=node, n=length)

    def fixed(self, axis: Axis, index: ast.expr) -> ast.expr:
        """An index along an axis as one into the whole."""
        return index if axis.start is None else _shifted(axis, self.from_end(index, axis.length))

    def sliced(self, axis: Axis, part: ast.Slice) -> Axis:
        """What a slice leaves of an axis."""
        step = 1 if part.step is None else _integer(part.step)
        n = axis.length
        if part.lower is None and part.upper is None and step == 1:
            return axis
        if step == -1 and part.lower is None and part.upper is None:
            last = _shifted(axis, expression("n - 1", n=n))
            return Axis(n, last, -axis.step)
        if step is None or step < 1:
            refuse(part, f"`{text(part)}` steps backwards, or by what isn't a constant.", fix="loop over the elements.")
        low = constant(0) if part.lower is None else self.from_end(part.lower, n)
        if part.lower is not None and not self.positive(low):
            low = expression("max(i, 0)", i=low)
        high = n if part.upper is None else expression("min(i, n)", i=self.from_end(part.upper, n), n=n)
        count = high if isinstance(low, ast.Constant) and low.value == 0 else expression("b - a", a=low, b=high)
        if step != 1:
            count = expression("(c + s) // t", c=count, s=constant(step - 1), t=constant(step))
        return Axis(
            expression("max(c, 0)", c=count), _shifted(axis, low) if axis.start is not None else low, step * axis.step
        )


def _integer(node: ast.expr) -> int | None:
    try:
        value = ast.literal_eval(node)
    except ValueError:
        return None
    return value if isinstance(value, int) else None
