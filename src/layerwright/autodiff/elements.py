"""Numbers of arrays: the elements of whole arrays, of their parts, and of what is computed with them.

A sum, a largest element or a product of vectors inside of a number's expression becomes a loop in front of it.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from layerwright.autodiff import rules, types
from layerwright.autodiff.fence import LOOP
from layerwright.autodiff.lenses import Bounds, Lens, whole
from layerwright.autodiff.program import Program
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    expression,
    indices,
    name,
    placed,
    reads,
    rebuild,
    refuse,
    targets,
    text,
    walk,
)
from layerwright.autodiff.types import Reader, Type, Types

_SUMS = {np.sum: "sum", sum: "sum", np.mean: "mean", np.prod: "prod", np.max: "max", np.amax: "max", np.min: "min",
         np.amin: "min", max: "max", min: "min"}  # fmt: skip
_METHODS = {"sum", "mean", "prod", "max", "min"}
_PRODUCTS = {np.dot, np.matmul, np.vdot, np.inner}


class Elements:
    """Rewrites expressions of a program.

    Args:
        program: The program.
        found: The types of its variables; those of new ones are added.
        arguments: The names of its arguments.
    """

    def __init__(self, program: Program, found: Types, arguments: set[str]) -> None:
        self.program, self.types, self.arguments = program, found, arguments
        self.local = program.local
        self.reader = Reader(found, program.namespace, self.local)
        self.bounds = Bounds(_counters(program.body))
        self.lenses: dict[str, Lens] = {}
        self.traded: set[str] = set()
        # How often each array is made, not counting trades and tapes that grow.
        self.made_in_text: dict[str, int] = {}
        for s in walk(program.body):
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple):
                self.traded |= {base(t) for t in s.targets[0].elts if self.rank(t)}
            elif isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and not self.grown(s.value):
                self.made_in_text[s.targets[0].id] = self.made_in_text.get(s.targets[0].id, 0) + 1
        self.loops = {base(s.target) for s in walk(program.body) if isinstance(s, ast.For)}
        self.settled = _settled(program.body)

    def rank(self, node: ast.expr) -> int:
        """How many dimensions a value has."""
        found = self.reader.of(node)
        return 0 if found is None else found.rank

    def grown(self, node: ast.expr) -> bool:
        """Whether a value is a tape with more room."""
        return isinstance(node, ast.Call) and self.reader.meaning(node.func) is grow

    def fresh(self, wanted: str, kind: Type | None = None) -> str:
        """A new variable."""
        found = self.program.names.fresh(wanted)
        self.local.add(found)
        if kind is not None:
            self.types[found] = kind
        return found

    def numpy(self) -> ast.Name:
        """NumPy, by the name that it has here."""
        return name(self.program.bind("np", np))

    def dtype(self, kind: Type) -> ast.expr:
        """A dtype of NumPy."""
        names = {"f": f"float{kind.bits}", "i": f"int{kind.bits}", "b": "bool_"}
        return ast.Attribute(self.numpy(), names[kind.kind], ast.Load())

    def lens(self, node: ast.expr) -> Lens | None:
        """The part of an array that an expression is; None where it is computed."""
        if isinstance(node, ast.Name) and node.id in self.lenses:
            return self.lenses[node.id]
        if isinstance(node, ast.Name):
            return whole(node.id, self.rank(node)) if self.rank(node) else None
        if isinstance(node, ast.Subscript) and (owner := self.lens(node.value)) is not None:
            return owner.taken([self.index(i) for i in indices(node)], self.bounds)
        if isinstance(node, ast.Attribute) and node.attr == "T" and (owner := self.lens(node.value)) is not None:
            refuse(node, f"`{text(node)}` is a transposed array.", fix="swap the indices where it is used.")
        return None

    def index(self, node: ast.expr) -> ast.expr:
        """An index, in which nothing is summed up."""
        before: list[ast.stmt] = []
        new = self.scalar(node, before)
        if before:
            refuse(node, f"The index `{text(node)}` adds up an array.", fix="compute it in a line before.")
        return new

    def plain(self, node: ast.expr) -> ast.expr:
        """An expression that is computed again and again, so that nothing can come before it."""
        before: list[ast.stmt] = []
        new = self.scalar(node, before)
        if before:
            refuse(
                node,
                f"`{text(node)}` adds up an array where that isn't looked for.",
                fix="compute it in a line before.",
            )
        return new

    def leading(self, value: ast.expr) -> Lens:
        """The array whose shape a computed array has."""
        found = [lens for n in self.leaves(value) if (lens := self.lens(n)) is not None and lens.rank]
        if not found:
            refuse(value, f"`{text(value)}` is an array whose shape isn't known.", fix=LOOP)
        return max(found, key=lambda lens: lens.rank)

    def leaves(self, node: ast.expr) -> list[ast.expr]:
        """The variables and elements that a value is computed of."""
        if isinstance(node, ast.Name | ast.Subscript):
            return [node]
        if isinstance(node, ast.Attribute):
            return []
        return [leaf for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr) for leaf in self.leaves(part)]

    def of_element(self, node: ast.expr, index: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        """One element of a computed array."""
        if not self.rank(node):
            return self.scalar(node, before)
        if (lens := self.lens(node)) is not None:
            return placed(lens.element(index), node)  # type: ignore[no-any-return]
        copied = copied_of(node, self.reader.meaning(node.func) if isinstance(node, ast.Call) else None)
        if copied is not None:
            return self.of_element(copied, index, before)
        if isinstance(node, ast.BinOp):
            left, right = self.of_element(node.left, index, before), self.of_element(node.right, index, before)
            return placed(ast.BinOp(left, node.op, right), node)  # type: ignore[no-any-return]
        if isinstance(node, ast.UnaryOp):
            return placed(ast.UnaryOp(node.op, self.of_element(node.operand, index, before)), node)  # type: ignore[no-any-return]
        if isinstance(node, ast.IfExp):
            parts = [self.of_element(n, index, before) for n in (node.test, node.body, node.orelse)]
            return placed(ast.IfExp(*parts), node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Call) and not node.keywords:
            function = self.reader.meaning(node.func)
            if isinstance(function, np.ufunc) and (rules.rule_of(function) or function in rules.SELECTING):
                given = [self.of_element(a, index, before) for a in node.args]
                return placed(ast.Call(node.func, given, []), node)  # type: ignore[no-any-return]
        return refuse(node, f"`{text(node)}` computes with whole arrays in a way that isn't known.", fix=LOOP)

    def product(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        """The two sides of a matrix product."""
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return node.left, node.right
        if isinstance(node, ast.Call) and len(node.args) == 2 and self.reader.meaning(node.func) in _PRODUCTS:
            return node.args[0], node.args[1]
        return None

    def without_products(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An array expression whose matrix products were computed before."""

        def change(n: ast.AST) -> ast.AST | None:
            pair = self.product(n) if isinstance(n, ast.expr) else None
            if pair is None or not self.rank(n):  # type: ignore[arg-type]
                return None
            return self.multiplied(*pair, before)

        return rebuild(node, change)  # type: ignore[no-any-return]

    def multiplied(self, a: ast.expr, b: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A matrix times a vector, or a vector times a matrix, in an array of its own."""
        left, right = self.lens(a), self.lens(b)
        if left is None or right is None or (left.rank, right.rank) not in ((2, 1), (1, 2)):
            refuse(a, "A product of arrays of these dimensions.", fix="write the loops, or multiply vectors only.")
        rows = left.axes[0] if left.rank == 2 else right.axes[1]
        inner = left.axes[-1]
        kind = types.join(self.types[left.array], self.types[right.array]) or types.FLOAT
        result, i, j = (
            self.fresh("product", kind.of_rank(1)),
            self.fresh("i", types.INTEGER),
            self.fresh("j", types.INTEGER),
        )
        total = self.fresh("total", kind.of_rank(0))
        self.bounds.counters |= {i, j}
        term = expression("x * y", x=left.element([name(i), name(j)] if left.rank == 2 else [name(j)]),
                          y=right.element([name(j)] if left.rank == 2 else [name(j), name(i)]))  # fmt: skip
        loop = ast.For(ast.Name(j, ast.Store()), expression("range(n)", n=inner.length),
                       [ast.AugAssign(ast.Name(total, ast.Store()), ast.Add(), term)], [])  # fmt: skip
        body = [assign(total, constant(0.0)), loop, assign(expression("r[i]", r=name(result), i=name(i)), name(total))]
        shape = ast.Tuple([rows.length], ast.Load())
        create = expression("np.empty(shape, dtype)", np=self.numpy(), shape=shape, dtype=self.dtype(kind))
        before.append(placed(assign(result, create), a))
        before.append(placed(ast.For(ast.Name(i, ast.Store()), expression("range(n)", n=rows.length), body, []), a))
        return name(result)

    def scalar(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A number's expression: elements of whole arrays, sums of arrays as loops before it."""
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            lens = self.lens(node.value.value)
            which = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if lens is not None and isinstance(node.value.value, ast.Name) and lens.array == node.value.value.id:
                return node
            if lens is None or not isinstance(which, int) or not -lens.rank <= which < lens.rank:
                refuse(
                    node, f"The shape `{text(node)}` isn't known.", fix="pass the size, or take it from an argument."
                )
            return placed(lens.axes[which].length, node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Attribute) and node.attr == "size" and (lens := self.lens(node.value)) is not None:
            size = lens.axes[0].length
            for axis in lens.axes[1:]:
                size = expression("a * b", a=size, b=axis.length)
            return placed(size, node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Subscript) and (lens := self.lens(node)) is not None:
            if lens.rank:
                refuse(
                    node, f"`{text(node)}` is an array where a number is needed.", fix="index all of its dimensions."
                )
            return placed(lens.element([]), node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Name) and self.rank(node) and not isinstance(self.reader.meaning(node), tuple):
            refuse(node, f"`{node.id}` is an array where a number is needed.", fix="index it.")
        if (summed := self.summed(node, before)) is not None:
            return placed(summed, node)  # type: ignore[no-any-return]
        if isinstance(node, ast.Attribute):
            return node
        if isinstance(node, ast.Call) and any(self.rank(a) and reads(a) & self.local for a in node.args):
            refuse(node, f"`{text(node.func)}` is called with a whole array.", fix=LOOP)
        if isinstance(node, ast.IfExp | ast.BoolOp):
            return self.lazy(node, before)

        def change(n: ast.AST) -> ast.AST | None:
            if n is node or not isinstance(n, ast.expr):
                return None
            return n if isinstance(node, ast.Call) and n is node.func else self.scalar(n, before)

        return rebuild(node, change)  # type: ignore[no-any-return]

    def lazy(self, node: ast.IfExp | ast.BoolOp, before: list[ast.stmt]) -> ast.expr:
        """A number some of whose parts are computed only where they count: what they sum up is summed up there."""
        parts = [node.test, node.body, node.orelse] if isinstance(node, ast.IfExp) else node.values
        first = self.scalar(parts[0], before)
        inner: list[list[ast.stmt]] = [[] for _ in parts[1:]]
        rest = [self.scalar(part, own) for part, own in zip(parts[1:], inner, strict=True)]
        if not any(inner):
            new = ast.IfExp(first, *rest) if isinstance(node, ast.IfExp) else ast.BoolOp(node.op, [first, *rest])
            return placed(new, node)  # type: ignore[no-any-return]
        result = self.fresh("chosen", self.reader.of(node))
        if isinstance(node, ast.IfExp):
            branches = [[*own, assign(result, value)] for own, value in zip(inner, rest, strict=True)]
            made: list[ast.stmt] = [conditional(first, *branches)]
        else:
            made = [assign(result, first)]
            for own, value in zip(inner, rest, strict=True):
                goes_on = name(result) if isinstance(node.op, ast.And) else ast.UnaryOp(ast.Not(), name(result))
                made.append(conditional(goes_on, [*own, assign(result, value)]))
        before += [placed(m, node) for m in made]
        return name(result)

    def summed(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr | None:
        """A sum, a mean, the largest of an array, or the product of two vectors, as a loop before; None elsewhere."""
        if (pair := self.product(node)) is not None:
            if self.rank(pair[0]) != 1 or self.rank(pair[1]) != 1:
                refuse(node, f"`{text(node)}` is a product of arrays inside of an expression.", fix="assign it first.")
            value: ast.expr = placed(ast.BinOp(pair[0], ast.Mult(), pair[1]), node)
            return self.reduced("sum", value, node, before)
        if not isinstance(node, ast.Call):
            return None
        if isinstance(node.func, ast.Attribute) and node.func.attr in _METHODS and self.rank(node.func.value):
            what, value = node.func.attr, node.func.value
            extra = bool(node.args or node.keywords)
        else:
            function = self.reader.meaning(node.func)
            if function not in _SUMS or not node.args or not self.rank(node.args[0]):
                return None
            what, value, extra = _SUMS[function], node.args[0], bool(node.args[1:] or node.keywords)
        if extra:
            refuse(node, f"`{text(node)}` has further arguments.", fix="write the loop.")
        return self.reduced(what, value, node, before)

    def reduced(self, what: str, value: ast.expr, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A loop in front that adds up, multiplies or compares; its result."""
        value = self.without_products(value, before)
        lens = self.leading(value)
        total = self.fresh(what if what in ("sum", "prod") else f"{what}_of", self.types[lens.array].of_rank(0))
        counters = [self.fresh("k", types.INTEGER) for _ in lens.axes]
        self.bounds.counters |= set(counters)
        for leaf in self.leaves(value):
            other = self.lens(leaf)
            if other is not None and other.rank == lens.rank:
                for a, b in zip(lens.axes, other.axes, strict=True):
                    if text(a.length) != text(b.length):
                        check = expression("a == b", a=a.length, b=b.length)
                        before.append(placed(ast.Assert(check, ast.Constant("shapes differ")), node))
            elif other is not None and other.rank:
                refuse(node, f"`{text(node)}` stretches an array along another dimension.", fix=LOOP)
        one = self.of_element(value, [name(c) for c in counters], before)
        first = self.of_element(value, [constant(0) for _ in counters], before)
        if what in ("max", "min"):
            start, step = first, assign(total, expression(f"{what}(t, x)", t=name(total), x=one))
        elif what == "prod":
            start, step = constant(1.0), assign(total, expression("t * x", t=name(total), x=one))
        else:
            start, step = constant(0.0), ast.AugAssign(ast.Name(total, ast.Store()), ast.Add(), one)  # type: ignore[assignment]
        body: list[ast.stmt] = [step]
        for counter, axis in zip(reversed(counters), reversed(lens.axes), strict=True):
            body = [ast.For(ast.Name(counter, ast.Store()), expression("range(n)", n=axis.length), body, [])]
        before += [placed(assign(total, start), node), *(placed(b, node) for b in body)]
        if what == "mean":
            size: ast.expr = constant(1)
            for axis in lens.axes:
                size = expression("a * b", a=size, b=axis.length)
            return expression("t / n", t=name(total), n=size)
        return name(total)


def copied_of(node: ast.expr, function: Any) -> ast.expr | None:
    """What `x.copy()` or `np.copy(x)` copies."""
    if not isinstance(node, ast.Call) or node.keywords:
        return None
    if function is np.copy and len(node.args) == 1:
        return node.args[0]
    if isinstance(node.func, ast.Attribute) and node.func.attr == "copy" and not node.args and function is None:
        return node.func.value
    return None


def _settled(statements: list[ast.stmt]) -> set[str]:
    """The variables that are assigned once, outside of loops."""
    at_top = {t.id for s in statements if isinstance(s, ast.Assign) for t in s.targets if isinstance(t, ast.Name)}
    everywhere = [t.id for s in walk(statements) for t in targets(s) if isinstance(t, ast.Name)]
    return {n for n in at_top if everywhere.count(n) == 1}


def _counters(statements: list[ast.stmt]) -> set[str]:
    """The loop variables that are never negative."""
    found: set[str] = set()
    for s in walk(statements):
        if isinstance(s, ast.For) and isinstance(s.iter, ast.Call):
            arguments = s.iter.args
            start = arguments[0] if len(arguments) > 1 else constant(0)
            step = ast.literal_eval(arguments[2]) if len(arguments) > 2 and _literal(arguments[2]) else 1
            if Bounds(found).positive(start) and (len(arguments) < 3 or (_literal(arguments[2]) and step > 0)):
                found.add(base(s.target))
    return found


def _literal(node: ast.expr) -> bool:
    try:
        return isinstance(ast.literal_eval(node), int)
    except ValueError:
        return False
