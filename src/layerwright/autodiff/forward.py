"""Forward mode: beside every number its derivatives, in one direction or along each input of an elementwise function.

Statement by statement: the order of the program stays, with its loops, branches, `break` and `return`.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

import numpy as np

from layerwright.autodiff import activity, rules
from layerwright.autodiff.calculus import Calculus, Term, plus, times
from layerwright.autodiff.program import Program
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import (
    assign,
    base,
    constant,
    element,
    expression,
    indices,
    loaded,
    name,
    placed,
    reads,
    stored,
)
from layerwright.autodiff.types import Types


@dataclasses.dataclass
class Direction:
    """A direction in which everything is differentiated.

    Attributes:
        names: The derivative's variable for each of the program's, given or made here.
        pattern: How names are made: `"{}_x"`.
        active: The variables that have a derivative in this direction.
        one: A variable whose derivative is 1 all the time.
    """

    names: dict[str, str]
    pattern: str
    active: set[str]
    one: str | None = None


class Forward:
    """Rewrites a program's statements.

    Args:
        program: A flattened one.
        types: The types of its variables.
        directions: The directions.
        leave: Makes the statements for a `return` of the values; None where nothing is returned.
    """

    def __init__(
        self,
        program: Program,
        types: Types,
        directions: list[Direction],
        leave: Callable[[Forward, list[ast.expr]], list[ast.stmt]] | None = None,
    ) -> None:
        self.program, self.types, self.directions, self.leave = program, types, directions, leave
        self.calculus = Calculus(program, types)
        self.singular = self.calculus.singular()

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """The statements with their derivatives."""
        out: list[ast.stmt] = []
        for s in statements:
            out += [placed(n, s) for n in self.statement(s)]
        return out

    def statement(self, s: ast.stmt) -> list[ast.stmt]:
        """One statement with its derivatives."""
        if isinstance(s, ast.If):
            return [ast.If(s.test, self.block(s.body) or [ast.Pass()], self.block(s.orelse))]
        if isinstance(s, ast.While):
            return [ast.While(s.test, self.block(s.body) or [ast.Pass()], [])]
        if isinstance(s, ast.For):
            return [ast.For(s.target, s.iter, self.block(s.body) or [ast.Pass()], [])]
        if isinstance(s, ast.Return) and self.leave is not None and s.value is not None:
            return self.leave(self, list(s.value.elts) if isinstance(s.value, ast.Tuple) else [s.value])
        if activity.traded(s):
            return self.trade(s)
        if activity.is_allocation(s, self.calculus):
            return self.allocation(s)  # type: ignore[arg-type]
        if isinstance(s, ast.AugAssign):
            return self.increment(s)
        if isinstance(s, ast.Assign):
            return self.assignment(s)
        return [s]

    # -- names and places of derivatives
    def derivative(self, leaf: ast.expr, d: Direction) -> ast.expr:
        """The derivative of a variable or an element."""
        variable = base(leaf)
        if variable == d.one:
            return self.calculus.typed(constant(1.0), self.types[variable])
        if variable not in d.names:
            d.names[variable] = self.program.names.fresh(d.pattern.format(variable))
        if isinstance(leaf, ast.Subscript):
            return element(d.names[variable], *indices(leaf))
        return name(d.names[variable])

    def zero(self, variable: str) -> ast.expr:
        """The number 0 in a variable's precision."""
        return self.calculus.typed(constant(0.0), self.types[variable].of_rank(0))

    def total(self, terms: list[Term], d: Direction) -> ast.expr | None:
        """What the terms add up to in a direction; None for 0."""
        total: ast.expr | None = None
        for term in terms:
            if term.variable not in d.active:
                continue
            part = term.apply(self.derivative(term.leaf, d))
            total = plus(total, part)
        return total

    # -- statements
    def trade(self, s: ast.stmt) -> list[ast.stmt]:
        """Arrays that trade names: their derivatives do, too."""
        a, b = activity.traded(s)
        out = [s]
        for d in self.directions:
            if a in d.active:
                x, y = self.derivative(name(a), d), self.derivative(name(b), d)
                out.append(ast.Assign([ast.Tuple([stored(x), stored(y)], ast.Store())], ast.Tuple([y, x], ast.Load())))
        return out

    def allocation(self, s: ast.Assign) -> list[ast.stmt]:
        """An array, and its derivatives beside it."""
        target = base(s.targets[0])
        assert isinstance(s.value, ast.Call)
        out: list[ast.stmt] = []
        for d in self.directions:
            if target not in d.active:
                continue
            own = self.derivative(name(target), d)
            if self.calculus.reader.meaning(s.value.func) is grow:
                out.append(assign(own, ast.Call(s.value.func, [own, *s.value.args[1:]], [])))
            else:
                numpy = name(self.program.bind("np", np))
                out.append(assign(own, expression("np.zeros_like(a)", np=numpy, a=name(target))))
        grown = self.calculus.reader.meaning(s.value.func) is grow
        return [*out, s] if grown else [s, *out]

    def increment(self, s: ast.AugAssign) -> list[ast.stmt]:
        """`+=` and `-=`."""
        out: list[ast.stmt] = []
        target = loaded(s.target)
        for d in self.directions:
            if base(target) in d.active:
                total = self.total(self.calculus.terms(s.value), d)
                if total is not None:
                    total = self.calculus.typed(total, self.types[base(target)])
                    out.append(ast.AugAssign(stored(self.derivative(target, d)), s.op, total))
        return [*out, s]

    def assignment(self, s: ast.Assign) -> list[ast.stmt]:
        """An assignment: the derivatives first, which read what it may overwrite."""
        target = loaded(s.targets[0])
        active = [d for d in self.directions if base(target) in d.active]
        if not active:
            return [s]
        if not isinstance(s.value, ast.Call) or not self.calculus.leaves(s.value):
            out: list[ast.stmt] = []
            for d in active:
                total = self.total(self.calculus.terms(s.value), d) if not isinstance(s.value, ast.Call) else None
                out.append(assign(self.derivative(target, d), self.of(total, target)))
            return [*out, s]
        if self.calculus.reader.meaning(s.value.func) in rules.SELECTING:
            return self.selection(s, s.value, target, active)
        return self.call(s.value, target, active)

    def of(self, total: ast.expr | None, target: ast.expr) -> ast.expr:
        """A derivative as it is assigned: 0 where there is none."""
        return self.zero(base(target)) if total is None else self.calculus.typed(total, self.types[base(target)])

    def selection(self, s: ast.Assign, call: ast.Call, target: ast.expr, active: list[Direction]) -> list[ast.stmt]:
        """`max` and `min`: the derivative is that of the operand that was chosen."""
        a, b = call.args
        operator = rules.SELECTING[self.calculus.reader.meaning(call.func)]
        first = self.program.names.fresh("first")
        out: list[ast.stmt] = [assign(first, expression(f"a {operator} b", a=a, b=b))]
        for d in active:
            parts = [self.of(self.total(self.calculus.terms(x), d), target) for x in (a, b)]
            chosen = expression("x if c else y", c=name(first), x=parts[0], y=parts[1])
            out.append(assign(self.derivative(target, d), chosen))
        return [*out, s]

    def call(self, call: ast.Call, target: ast.expr, active: list[Direction]) -> list[ast.stmt]:
        """A call: the result first, then a slope for each argument, then the derivatives."""
        rule = self.calculus.rule(call)
        assert rule is not None
        kind = self.types[base(target)]
        held = base(target) in reads(call)
        result: ast.expr = name(self.program.names.fresh("value")) if held else target
        out: list[ast.stmt] = [assign(result, call)]
        slopes: dict[int, ast.expr] = {}
        for k, argument in enumerate(call.args):
            if self.calculus.flows(call, k) and any(self.total(self.calculus.terms(argument), d) for d in active):
                partial = self.calculus.typed(self.calculus.bound(rule, k, call.args, result), kind)
                if not isinstance(partial, ast.Name | ast.Constant):
                    slope = self.program.names.fresh("slope")
                    out.append(assign(slope, partial))
                    partial = name(slope)
                slopes[k] = partial
        for d in active:
            total: ast.expr | None = None
            for k, slope_of in slopes.items():
                through = self.total(self.calculus.terms(call.args[k]), d)
                if through is None:
                    continue
                part = self.scaled(self.calculus.typed(through, kind), slope_of, rule.singular, out)
                total = plus(total, part)
            out.append(assign(self.derivative(target, d), self.of(total, target)))
        return [*out, assign(target, result)] if held else out

    def scaled(self, through: ast.expr, slope: ast.expr, singular: bool, out: list[ast.stmt]) -> ast.expr:
        """A derivative times a slope, which may be infinite: nothing comes of it where the derivative is 0."""
        if not singular:
            return times(through, slope)
        if not isinstance(through, ast.Name):
            held = self.program.names.fresh("inner")
            out.append(assign(held, through))
            through = name(held)
        return expression("t * s if t != 0.0 else 0.0", t=through, s=slope)
