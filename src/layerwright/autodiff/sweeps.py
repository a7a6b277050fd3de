"""The two sweeps of reverse mode: forward with a tape, and backward along it."""

from __future__ import annotations

import ast
from collections import Counter

import numpy as np

from layerwright.autodiff.activity import is_allocation, traded
from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.dead import Live
from layerwright.autodiff.order import any_order
from layerwright.autodiff.recompute import Local, Locals
from layerwright.autodiff.record import Record
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    expression,
    name,
    placed,
    targets,
    walk,
)
from layerwright.autodiff.tape import Kind, Sizes, Tapes, kind_of

_TRUTH: Kind = ("b", 8)
_WHOLE: Kind = ("i", 64)


class Sweeps:
    """Writes both sweeps of a program.

    Args:
        adjoints, locals_, record, live, flags: What the passes before have found.
        given: The arrays whose cotangents are there already.
        reorder: Whether loops that only add up run in their own order backward too.
    """

    def __init__(
        self,
        adjoints: Adjoints,
        locals_: Locals,
        record: Record,
        live: Live,
        flags: dict[int, str],
        given: set[str],
        reorder: bool = True,
    ) -> None:
        self.adjoints, self.locals, self.record, self.live, self.flags = adjoints, locals_, record, live, flags
        self.reorder, self.given = reorder, given
        self.types, self.fresh = adjoints.types, adjoints.program.names.fresh
        self.tapes = Tapes(adjoints.program)
        self.sizes = Sizes(self.direct)
        self.done: dict[int, list[ast.stmt]] = {}
        self.counts: dict[int, tuple[str, str, str]] = {}

    # -- what is put on the tapes
    def kind(self, variable: str) -> Kind:
        """The tape for a variable's type."""
        return kind_of(self.types[variable])

    def saved(self, block: list[ast.stmt]) -> list[Local]:
        """The locals of a block whose values are taped at its end."""
        return self.locals.in_block(block, lambda local: not local.again) if self.backward(block) else []

    def ends(self, block: list[ast.stmt]) -> Counter[Kind]:
        """How many locals a block tapes at its end."""
        return Counter(self.kind(local.name) for local in self.saved(block))

    def direct(self, s: ast.stmt) -> Counter[Kind]:
        """What one statement tapes, without its blocks."""
        if isinstance(s, ast.If):
            return Counter({_TRUTH: 1} if self.branched(s) else {})
        if isinstance(s, ast.For | ast.While):
            return Counter({_WHOLE: len(self.counted(s))} if self.backward(s.body) else {})
        return Counter({self.kind(self.adjoints.steps[id(s)].variable): 1} if id(s) in self.record.taped else {})

    def branched(self, s: ast.If) -> bool:
        """Whether a branch says on the tape that it was taken."""
        return id(s) not in self.record.again and bool(self.backward(s.body) or self.backward(s.orelse))

    def counted(self, s: ast.For | ast.While) -> list[str]:
        """What of a loop is taped after it: how often it ran, where it began, by which steps."""
        if isinstance(s, ast.While):
            return ["count"]
        if id(s) in self.record.again:
            return ["count"] if id(s) in self.flags else []
        return ["first", "step", "count"]

    # -- forward
    def forward(self, block: list[ast.stmt], covered: bool) -> list[ast.stmt]:
        """A block of the forward sweep; `covered` where the tapes have room already."""
        out: list[ast.stmt] = []
        for s in block:
            out += [placed(n, s) for n in self.forth(s, covered)]
        for local in self.saved(block):
            out += [placed(n, local.statement) for n in self.put(self.kind(local.name), name(local.name), covered)]
        return out

    def put(self, kind: Kind, value: ast.expr, covered: bool) -> list[ast.stmt]:
        """Put a value on a tape, with room for it."""
        room = [] if covered else [self.tapes.reserve(kind, constant(1))]
        return [*room, *self.tapes.push(kind, value)]

    def forth(self, s: ast.stmt, covered: bool) -> list[ast.stmt]:
        """A statement of the forward sweep."""
        if isinstance(s, ast.If):
            return self.forth_if(s, covered)
        if isinstance(s, ast.For | ast.While):
            return self.forth_loop(s, covered)
        if isinstance(s, ast.Assert | ast.Raise):
            return [s]
        if is_allocation(s, self.adjoints.calculus):
            return self.forth_allocation(s)  # type: ignore[arg-type]
        if not targets(s) or not self.live.keeps(s):
            return []
        if id(s) in self.record.taped:
            step = self.adjoints.steps[id(s)]
            return [*self.put(self.kind(step.variable), step.target, covered), s]
        return [s]

    def forth_allocation(self, s: ast.Assign) -> list[ast.stmt]:
        """An array and its cotangent; the outputs' cotangents are given."""
        array = base(s.targets[0])
        kept = self.live.keeps(s)
        out: list[ast.stmt] = [s] if kept else []
        if array in self.adjoints.active and array not in self.given:
            numpy = name(self.adjoints.program.bind("np", np))
            assert isinstance(s.value, ast.Call)
            value: ast.expr = expression("np.zeros_like(a)", np=numpy, a=name(array))
            if not kept:
                value = ast.Call(ast.Attribute(numpy, "zeros", ast.Load()), s.value.args, [])
            out.append(assign(self.adjoints.cotangent(name(array)), value))
        return out

    def forth_if(self, s: ast.If, covered: bool) -> list[ast.stmt]:
        """A branch of the forward sweep, which says that it was taken."""
        body, orelse = self.forward(s.body, covered), self.forward(s.orelse, covered)
        if self.branched(s):
            body += [placed(n, s) for n in self.put(_TRUTH, ast.Constant(True), covered)]
            orelse += [placed(n, s) for n in self.put(_TRUTH, ast.Constant(False), covered)]
        if not body and not orelse:
            return []
        if not body:
            return [conditional(ast.UnaryOp(ast.Not(), s.test), orelse)]
        return [conditional(s.test, body, orelse)]

    def forth_loop(self, s: ast.For | ast.While, covered: bool) -> list[ast.stmt]:
        """A loop of the forward sweep: room before it, what is counted after it."""
        before: list[ast.stmt] = []
        undone = bool(self.backward(s.body))
        inside = covered
        if isinstance(s, ast.For) and not covered:
            room = self.sizes.room(s, self.ends)
            if room is not None:
                inside = True
                for kind, parts in room.items():
                    before.append(self.tapes.reserve(kind, parts[0]))
        first: list[ast.stmt] = []
        after: list[ast.stmt] = []
        if undone and (told := self.counted(s)):
            self.counts[id(s)] = self.counts.get(id(s)) or (
                self.fresh("first"),
                self.fresh("step"),
                self.fresh("count"),
            )
            names = dict(zip(("first", "step", "count"), self.counts[id(s)], strict=True))
            start, step, run = _range(s) if isinstance(s, ast.For) else (constant(0), constant(1), constant(0))
            if "first" in told:
                before += [assign(names["first"], start), assign(names["step"], step)]
            if isinstance(s, ast.While) or id(s) in self.flags:
                before.append(assign(names["count"], constant(0)))
                first = [ast.AugAssign(ast.Name(names["count"], ast.Store()), ast.Add(), constant(1))]
            else:
                before.append(assign(names["count"], expression("len(r)", r=run)))
            for what in told:
                after += self.put(_WHOLE, name(names[what]), covered)
        body = self.forward(s.body, inside)
        if not body and not first:
            return []
        if id(s) in self.flags:
            body.append(placed(conditional(name(self.flags[id(s)]), [ast.Break()]), s))
        body = [*(placed(f, s) for f in first), *body]
        made = ast.For(s.target, s.iter, body, []) if isinstance(s, ast.For) else ast.While(s.test, body, [])
        return [*before, made, *after]

    # -- backward
    def backward(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """A block of the backward sweep; empty where nothing is to be done."""
        if id(block) not in self.done:
            undone: list[ast.stmt] = []
            for s in reversed(block):
                undone += [placed(n, s) for n in self.back(s)]
            self.done[id(block)] = [*self.restored(block), *undone] if undone else []
        return self.done[id(block)]

    def restored(self, block: list[ast.stmt]) -> list[ast.stmt]:
        """The locals of a block get their values back."""
        out: list[ast.stmt] = []
        for local in reversed(self.locals.in_block(block, lambda local: not local.again)):
            out += [placed(n, local.statement) for n in self.tapes.pop(self.kind(local.name), name(local.name))]
        return [*out, *(local.statement for local in self.locals.in_block(block, lambda local: local.again))]

    def back(self, s: ast.stmt) -> list[ast.stmt]:
        """A statement of the backward sweep."""
        if isinstance(s, ast.If):
            return self.back_if(s)
        if isinstance(s, ast.For | ast.While):
            return self.back_loop(s)
        if trade := traded(s):
            return [s, *self.back_trade(trade)]
        step = self.adjoints.steps.get(id(s))
        if step is None:
            return []
        if id(s) not in self.record.taped:
            return step.code(step.target)
        out: list[ast.stmt] = []
        result: ast.expr = step.target
        if step.after:
            result = name(self.fresh("result"))
            out.append(assign(result, step.target))
        out += self.tapes.pop(self.kind(step.variable), step.target)
        return [*out, *step.code(result)]

    def back_trade(self, trade: list[str]) -> list[ast.stmt]:
        """The cotangents trade names back."""
        if trade[0] not in self.adjoints.active:
            return []
        a, b = (self.adjoints.cotangent(name(v)) for v in trade)
        places = ast.Tuple([ast.Name(base(a), ast.Store()), ast.Name(base(b), ast.Store())], ast.Store())
        return [ast.Assign([places], ast.Tuple([b, a], ast.Load()))]

    def back_if(self, s: ast.If) -> list[ast.stmt]:
        """A branch of the backward sweep."""
        body, orelse = self.backward(s.body), self.backward(s.orelse)
        if not body and not orelse:
            return []
        before: list[ast.stmt] = []
        test = s.test
        if id(s) not in self.record.again:
            before, test = self.tapes.pop(_TRUTH, None), self.tapes.last(_TRUTH)
        if not body:
            return [*before, conditional(ast.UnaryOp(ast.Not(), test), orelse)]
        return [*before, conditional(test, body, orelse)]

    def back_loop(self, s: ast.For | ast.While) -> list[ast.stmt]:
        """A loop of the backward sweep."""
        body = self.backward(s.body)
        if not body:
            return []
        told = self.counted(s)
        if isinstance(s, ast.For) and not told and self.reorder and any_order(body, s, self.adjoints, self.locals):
            return [ast.For(s.target, s.iter, body, [])]
        self.counts[id(s)] = self.counts.get(id(s)) or (self.fresh("first"), self.fresh("step"), self.fresh("count"))
        names = dict(zip(("first", "step", "count"), self.counts[id(s)], strict=True))
        before: list[ast.stmt] = []
        for what in reversed(told):
            before += self.tapes.pop(_WHOLE, name(names[what]))
        counter = self.fresh("back")
        if isinstance(s, ast.While):
            run = expression("range(n)", n=name(names["count"]))
            return [*before, ast.For(ast.Name(counter, ast.Store()), run, body, [])]
        return [*before, *self.reversed(s, body, told, names, counter)]

    def reversed(
        self, s: ast.For, body: list[ast.stmt], told: list[str], names: dict[str, str], counter: str
    ) -> list[ast.stmt]:
        """A loop over the same numbers in the opposite order; the counter runs upwards, which compilers know best."""
        start, step, run = _range(s)
        if "first" in told:
            start, step = name(names["first"]), name(names["step"])
        before: list[ast.stmt] = []
        zero, one = (
            isinstance(start, ast.Constant) and start.value == 0,
            isinstance(step, ast.Constant) and step.value == 1,
        )
        if not told and one:
            stop = run.args[-1 if len(run.args) < 3 else 1]
            count = stop if zero else expression("b - a", a=start, b=stop)
            value = expression("b - 1 - k", b=stop, k=name(counter))
        else:
            if not told:
                before.append(assign(names["count"], expression("len(r)", r=run)))
            count = name(names["count"])
            value = expression("n - 1 - k", n=count, k=name(counter))
            value = value if one else expression("i * s", i=value, s=step)
            value = value if zero else expression("a + i", a=start, i=value)
        first = placed(assign(base(s.target), value), s)
        made = ast.For(ast.Name(counter, ast.Store()), expression("range(n)", n=count), [first, *body], [])
        return [*before, made]

    # -- around the sweeps
    def initial(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Values for variables that the tape or the backward sweep may read on paths on which they have none."""
        places = [(s, t) for s in walk(statements) for t in targets(s) if isinstance(t, ast.Name)]
        taped = {t.id for s, t in places if id(s) in self.record.taped}
        certain = {t.id for s, t in places if isinstance(s, ast.Assign) and any(s is top for top in statements)}
        read = {t.id for s, t in places if not isinstance(s, ast.For) and t.id in self.locals.needed} - certain
        taped |= {v for v in read if not self.types[v].rank} - set(self.locals.of)
        taped -= set(self.adjoints.program.arguments)
        zeros = {"f": 0.0, "i": 0, "b": False}
        return [
            assign(v, self.adjoints.calculus.typed(ast.Constant(zeros[self.types[v].kind]), self.types[v]))
            for v in sorted(taped)
        ]


def _range(s: ast.For) -> tuple[ast.expr, ast.expr, ast.Call]:
    """Where a loop begins, by which steps, and its range."""
    run = s.iter
    assert isinstance(run, ast.Call)
    start = run.args[0] if len(run.args) > 1 else constant(0)
    step = run.args[2] if len(run.args) > 2 else constant(1)
    return start, step, run
