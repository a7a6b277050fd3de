"""Pass: whole arrays become loops over their elements, and parts of arrays indices into the whole.

Afterwards an array variable is an argument, or made by `np.zeros` or `np.empty` and nothing else; only elements are
read and written, and two arrays may trade names.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from layerwright.autodiff import types
from layerwright.autodiff.elements import Elements, copied_of
from layerwright.autodiff.fence import LOOP
from layerwright.autodiff.lenses import Axis, Lens, whole
from layerwright.autodiff.program import Program
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    expression,
    loaded,
    name,
    placed,
    reads,
    rebuild,
    refuse,
    stored,
    text,
    walk,
    writes,
)
from layerwright.autodiff.types import Types


def expand(program: Program, arguments: Types) -> None:
    """Bring the arrays of a program into that form."""
    found = types.follow(program.body, arguments, program.namespace)
    program.body = _Arrays(program, found, set(arguments)).block(program.body)


class _Arrays(Elements):
    """Rewrites statements."""

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            before: list[ast.stmt] = []
            new = self.statement(s, before, statements[k + 1 :])
            out += [placed(n, s) for n in (*before, *new)]
        return out

    def statement(self, s: ast.stmt, before: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
        if isinstance(s, ast.If):
            return [ast.If(self.scalar(s.test, before), self.block(s.body), self.block(s.orelse))]
        if isinstance(s, ast.While):
            first: list[ast.stmt] = []
            test = self.scalar(s.test, first)
            if not first:
                return [ast.While(test, self.block(s.body), [])]
            first.append(conditional(ast.UnaryOp(ast.Not(), test), [ast.Break()]))
            return [ast.While(ast.Constant(True), [*(placed(f, s) for f in first), *self.block(s.body)], [])]
        if isinstance(s, ast.For):
            return [ast.For(s.target, self.scalar(s.iter, before), self.block(s.body), [])]
        if isinstance(s, ast.Assign):
            return self.assignment(s, before, rest)
        if isinstance(s, ast.AugAssign):
            if self.rank(s.target):
                lens = self.lens(loaded(s.target))
                assert lens is not None
                return self.filled(s, lens, s.value, before, s.op)
            return [ast.AugAssign(self.place(s.target), s.op, self.scalar(s.value, before))]
        if isinstance(s, ast.Return) and s.value is not None:
            if self.rank(s.value):
                refuse(s, "An array is returned.", fix="write the results into an array that is an argument.")
            return [ast.Return(self.scalar(s.value, before))]
        return [s] if isinstance(s, ast.Break | ast.Continue | ast.Pass) else [self.check(s)]

    def check(self, s: ast.stmt) -> ast.stmt:
        """`assert` and `raise`: only what they read is looked at."""
        return rebuild(s, lambda n: self.plain(n) if isinstance(n, ast.expr) else None)  # type: ignore[no-any-return]

    def place(self, target: ast.expr) -> Any:
        if isinstance(target, ast.Subscript):
            lens = self.lens(loaded(target))
            if lens is None:
                refuse(
                    target, f"`{text(target)}` is written to, and isn't an array.", fix="make it one with `np.empty`."
                )
            return stored(lens.element([]))
        return target

    def assignment(self, s: ast.Assign, before: list[ast.stmt], rest: list[ast.stmt]) -> list[ast.stmt]:
        target = s.targets[0]
        if isinstance(target, ast.Tuple):
            return self.trade(s, target)
        if isinstance(target, ast.Subscript):
            if (lens := self.lens(loaded(target))) is not None and lens.rank:
                return self.filled(s, lens, s.value, before)
            if self.rank(s.value):
                refuse(s, f"`{text(s.value)}` is an array, assigned to one element.", fix="index it.")
            value = self.scalar(s.value, before)
            return [ast.Assign([self.place(target)], value)]
        if not self.rank(s.value):
            return [ast.Assign([target], self.scalar(s.value, before))]
        if base(target) in self.arguments:
            refuse(s, f"The argument `{base(target)}` is given another array.", fix="give the array another name.")
        return self.made(s, base(target), s.value, before, rest)

    def trade(self, s: ast.Assign, target: ast.Tuple) -> list[ast.stmt]:
        a, b = (base(t) for t in target.elts)
        if not self.rank(target.elts[0]):
            held = self.fresh(f"{a}_old", self.types.get(a))
            return [assign(held, name(a)), assign(a, name(b)), assign(b, name(held))]
        if {a, b} & (set(self.lenses) | self.arguments):
            refuse(s, f"`{a}` and `{b}` trade names, and one isn't an array of the function's own.",
                   fix="copy the elements in a loop.")  # fmt: skip
        return [s]

    def made(
        self, s: ast.Assign, target: str, value: ast.expr, before: list[ast.stmt], rest: list[ast.stmt]
    ) -> list[ast.stmt]:
        """A variable that holds an array: one of its own, or a part of another."""
        function = self.reader.meaning(value.func) if isinstance(value, ast.Call) else None
        if function is grow:
            return [s]
        if self.made_in_text[target] > 1:
            refuse(s, f"`{target}` holds one array here and another there.", fix="use one name for each array.")
        if isinstance(value, ast.Call) and function in types.ALLOCATORS:
            return self.allocated(s, target, value, function, before)
        if isinstance(value, ast.Name | ast.Subscript) and (lens := self.lens(value)) is not None:
            return self.viewed(s, target, lens, rest)
        copied = copied_of(value, function)
        if copied is not None:
            value = copied
        elif function in (np.array, np.asarray) and isinstance(value, ast.Call):
            return self.listed(s, target, value, before)
        value = self.without_products(value, before)
        source = self.leading(value)
        shape = ast.Tuple([a.length for a in source.axes], ast.Load())
        dtype = expression("x.dtype", x=name(source.array)) if copied is not None else self.dtype(self.types[target])
        self.types[target] = self.types[target].of_rank(source.rank)
        create = assign(target, expression("np.empty(shape, dtype)", np=self.numpy(), shape=shape, dtype=dtype))
        return [
            placed(create, s),
            *self.filled(s, Lens(target, tuple(Axis(a.length) for a in source.axes)), value, before),
        ]

    def allocated(
        self, s: ast.Assign, target: str, call: ast.Call, function: Any, before: list[ast.stmt]
    ) -> list[ast.stmt]:
        given = {k.arg: k.value for k in call.keywords}
        arguments = list(call.args)
        first = arguments.pop(0) if arguments else given.get("shape") or call
        content: ast.expr | None = None
        if function in (np.full, np.full_like):
            content = arguments.pop(0) if arguments else given["fill_value"]
        elif function in (np.ones, np.ones_like):
            content = constant(1.0)
        dtype = arguments[0] if arguments else given.get("dtype")
        if function.__name__.endswith("_like"):
            lens = self.lens(first)
            if lens is None:
                refuse(first, f"`{text(first)}` isn't an array with a name.", fix="give the shape to `np.zeros`.")
            shape: ast.expr = ast.Tuple([a.length for a in lens.axes], ast.Load())
            dtype = dtype or expression("x.dtype", x=name(lens.array))
        else:
            shape = self.scalar(first, before)
        zero = function in (np.zeros, np.zeros_like)
        maker = ast.Attribute(self.numpy(), "zeros" if zero else "empty", ast.Load())
        extra = [dtype] if dtype is not None else []
        create = assign(target, ast.Call(maker, [shape, *extra], []))
        if content is None:
            return [create]
        return [placed(create, s), *self.filled(s, whole(target, self.types[target].rank), content, before)]

    def listed(self, s: ast.Assign, target: str, call: ast.Call, before: list[ast.stmt]) -> list[ast.stmt]:
        """`np.array([a, b, c])`."""
        if not isinstance(call.args[0], ast.List | ast.Tuple) or len(call.args) > 1 or call.keywords:
            refuse(s, f"`{text(call)}` isn't a list of numbers.", fix="make the array with `np.empty`, and fill it.")
        values = [self.scalar(v, before) for v in call.args[0].elts]
        if any(self.rank(v) for v in call.args[0].elts):
            refuse(s, f"`{text(call)}` has rows.", fix="make the array with `np.empty`, and fill it.")
        kind = self.types[target]
        for v in call.args[0].elts:
            kind = types.join(kind, self.reader.of(v)) or kind
        self.types[target] = kind.of_rank(1)
        size = ast.Tuple([constant(len(values))], ast.Load())
        create = expression("np.empty(size, dtype)", np=self.numpy(), size=size, dtype=self.dtype(kind))
        stores = [assign(expression("a[k]", a=name(target), k=constant(k)), v) for k, v in enumerate(values)]
        return [assign(target, create), *stores]

    def viewed(self, s: ast.Assign, target: str, lens: Lens, rest: list[ast.stmt]) -> list[ast.stmt]:
        """A part of an array gets a name: its bounds are kept, and the name goes."""
        if target in self.traded or lens.array in self.traded:
            refuse(s, f"`{target}` is a part of `{lens.array}`, and arrays trade their names here.",
                   fix="copy the elements in a loop.")  # fmt: skip
        inside = sum(target in reads(x) or target in writes([x]) for x in walk(rest))
        everywhere = sum(target in reads(x) or target in writes([x]) for x in walk(self.program.body)) - 1
        out: list[ast.stmt] = []
        safe = self.settled | (self.loops if inside == everywhere else set())

        def kept(node: ast.expr, what: str) -> ast.expr:
            changing = {n for n in reads(node) & self.local if not self.types.get(n, types.INTEGER).rank} - safe
            changing -= set(self.program.arguments) - writes(self.program.body)
            if not changing:
                return node
            held = self.fresh(f"{target}_{what}", types.INTEGER)
            if self.bounds.positive(node):
                self.bounds.counters.add(held)
            out.append(placed(assign(held, node), s))
            return name(held)

        parts: list[Any] = []
        for part in lens.parts:
            if isinstance(part, ast.expr):
                parts.append(kept(part, "at"))
            else:
                start = None if part.start is None else kept(part.start, "from")
                parts.append(type(part)(kept(part.length, "size"), start, part.step))
        self.lenses[target] = Lens(lens.array, tuple(parts))
        return out

    def filled(
        self, s: ast.stmt, lens: Lens, value: ast.expr, before: list[ast.stmt], op: ast.operator | None = None
    ) -> list[ast.stmt]:
        """Loops that give every element of a part its value."""
        value = self.without_products(value, before) if self.rank(value) else self.scalar(value, before)
        if self.rank(value) not in (0, lens.rank):
            refuse(s, f"`{text(s)}` stretches an array along another dimension.", fix=LOOP)
        counters = [self.fresh("k", types.INTEGER) for _ in range(lens.rank)]
        self.bounds.counters |= set(counters)
        index: list[ast.expr] = [name(c) for c in counters]
        place = lens.element(index)
        for leaf in self.leaves(value):
            other = self.lens(leaf)
            if other is None or not other.rank:
                if lens.array in reads(leaf):
                    refuse(s, f"`{lens.array}` is read while all of it is written.", fix=LOOP)
                continue
            if other.array == lens.array and text(other.element(index)) != text(place):
                refuse(s, f"Parts of `{lens.array}` that may overlap are read and written.", fix=LOOP)
            for a, b in zip(lens.axes, other.axes, strict=True):
                if text(a.length) != text(b.length):
                    before.append(
                        ast.Assert(expression("a == b", a=a.length, b=b.length), ast.Constant("shapes differ"))
                    )
        one = self.of_element(value, index, before)
        if isinstance(op, ast.Add | ast.Sub) and lens.array not in reads(one):
            body: list[ast.stmt] = [ast.AugAssign(stored(place), op, one)]
        elif op is not None:
            body = [assign(place, ast.BinOp(place, op, one))]
        else:
            body = [assign(place, one)]
        for counter, axis in zip(reversed(counters), reversed(lens.axes), strict=True):
            run = expression("range(n)", n=axis.length)
            body = [placed(ast.For(ast.Name(counter, ast.Store()), run, body, []), s)]
        return body
