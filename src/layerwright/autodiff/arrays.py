"""Pass: whole arrays become loops over their elements, and parts of arrays indices into the whole.

Afterwards an array variable is an argument, or made by `np.zeros` or `np.empty` and nothing else; only elements are
read and written, and two arrays may trade names.
"""

from __future__ import annotations

import ast
from typing import Any

import numpy as np

from layerwright.autodiff import rules, types
from layerwright.autodiff.fence import LOOP
from layerwright.autodiff.lenses import Axis, Bounds, Lens, whole
from layerwright.autodiff.program import Program
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    expression,
    indices,
    loaded,
    name,
    placed,
    reads,
    rebuild,
    refuse,
    stored,
    targets,
    text,
    walk,
    writes,
)
from layerwright.autodiff.types import Reader, Type, Types

_SUMS = {np.sum: "sum", sum: "sum", np.mean: "mean", np.prod: "prod", np.max: "max", np.amax: "max", np.min: "min",
         np.amin: "min", max: "max", min: "min"}  # fmt: skip
_METHODS = {"sum", "mean", "prod", "max", "min"}
_PRODUCTS = {np.dot, np.matmul, np.vdot, np.inner}


def expand(program: Program, arguments: Types) -> None:
    """Bring the arrays of a program into that form."""
    found = types.follow(program.body, arguments, program.namespace)
    program.body = _Arrays(program, found, set(arguments)).block(program.body)


class _Arrays:
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

    # -- what an expression is
    def rank(self, node: ast.expr) -> int:
        found = self.reader.of(node)
        return 0 if found is None else found.rank

    def grown(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Call) and self.reader.meaning(node.func) is grow

    def fresh(self, wanted: str, kind: Type | None = None) -> str:
        found = self.program.names.fresh(wanted)
        self.local.add(found)
        if kind is not None:
            self.types[found] = kind
        return found

    def numpy(self) -> ast.Name:
        return name(self.program.bind("np", np))

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
        before: list[ast.stmt] = []
        new = self.scalar(node, before)
        if before:
            refuse(node, f"The index `{text(node)}` adds up an array.", fix="compute it in a line before.")
        return new

    # -- statements
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
        copied = _copied(value, function)
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

    def dtype(self, kind: Type) -> ast.expr:
        names = {"f": f"float{kind.bits}", "i": f"int{kind.bits}", "b": "bool_"}
        return ast.Attribute(self.numpy(), names[kind.kind], ast.Load())

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

    # -- whole arrays, element by element
    def leading(self, value: ast.expr) -> Lens:
        """The array whose shape a computed array has."""
        found = [lens for n in self.leaves(value) if (lens := self.lens(n)) is not None and lens.rank]
        if not found:
            refuse(value, f"`{text(value)}` is an array whose shape isn't known.", fix=LOOP)
        return max(found, key=lambda lens: lens.rank)

    def leaves(self, node: ast.expr) -> list[ast.expr]:
        if isinstance(node, ast.Name | ast.Subscript):
            return [node]
        if isinstance(node, ast.Attribute):
            return []
        return [leaf for part in ast.iter_child_nodes(node) if isinstance(part, ast.expr) for leaf in self.leaves(part)]

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

    def of_element(self, node: ast.expr, index: list[ast.expr], before: list[ast.stmt]) -> ast.expr:
        """One element of a computed array."""
        if not self.rank(node):
            return self.scalar(node, before)
        if (lens := self.lens(node)) is not None:
            return placed(lens.element(index), node)  # type: ignore[no-any-return]
        copied = _copied(node, self.reader.meaning(node.func) if isinstance(node, ast.Call) else None)
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

    def without_products(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An array expression whose matrix products were computed before."""

        def change(n: ast.AST) -> ast.AST | None:
            pair = self.product(n) if isinstance(n, ast.expr) else None
            if pair is None or not self.rank(n):  # type: ignore[arg-type]
                return None
            return self.multiplied(*pair, before)

        return rebuild(node, change)  # type: ignore[no-any-return]

    def product(self, node: ast.expr) -> tuple[ast.expr, ast.expr] | None:
        if isinstance(node, ast.BinOp) and isinstance(node.op, ast.MatMult):
            return node.left, node.right
        if isinstance(node, ast.Call) and len(node.args) == 2 and self.reader.meaning(node.func) in _PRODUCTS:
            return node.args[0], node.args[1]
        return None

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

    # -- numbers
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


def _copied(node: ast.expr, function: Any) -> ast.expr | None:
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
