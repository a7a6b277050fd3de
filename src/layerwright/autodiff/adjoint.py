"""Reverse mode, one assignment at a time: what is done to the cotangents, and which values that reads.

The state that a step's code reads is the one before the assignment, which the tape has brought back; a rule that is
written in the result reads the target's value after it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable

from layerwright.autodiff import rules
from layerwright.autodiff.activity import Traded, is_allocation, traded
from layerwright.autodiff.calculus import Calculus, negative, times
from layerwright.autodiff.program import Program
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    constant,
    element,
    expression,
    indices,
    loaded,
    name,
    reads,
    stored,
    walk,
)
from layerwright.autodiff.types import Types


@dataclasses.dataclass
class Step:
    """The reverse of one assignment.

    Attributes:
        target: What is assigned.
        code: Makes the statements, given where the result is.
        before: The variables that they read as they were before the assignment.
        after: The target, where they read the result.
        place: The variables in the target's index.
    """

    target: ast.expr
    code: Callable[[ast.expr], list[ast.stmt]]
    before: set[str]
    after: set[str]
    place: set[str]

    @property
    def variable(self) -> str:
        """The variable that is assigned, in whole or in part."""
        return base(self.target)


class Adjoints:
    """The steps of a program.

    Args:
        program: A program in its last form.
        types: The types of its variables.
        active: The variables that have a cotangent.
        names: The cotangents' names, given or made here.
        once: The arrays whose elements are written once, so that their cotangents needn't be cleared.
    """

    def __init__(
        self, program: Program, types: Types, active: set[str], names: dict[str, str], once: set[str]
    ) -> None:
        self.program, self.types, self.active, self.names, self.once = program, types, active, names, once
        self.calculus = Calculus(program, types, active)
        self.trades = Traded(program.body)
        self.local = program.local
        self.steps: dict[int, Step] = {}
        for s in walk(program.body):
            if isinstance(s, ast.Assign | ast.AugAssign) and not traded(s) and not is_allocation(s, self.calculus):
                self.steps[id(s)] = self.step(s)

    def cotangent(self, leaf: ast.expr) -> ast.expr:
        """The cotangent of a variable or an element."""
        variable = base(leaf)
        if variable not in self.names:
            self.names[variable] = self.program.names.fresh(f"d_{variable}")
        if isinstance(leaf, ast.Subscript):
            return element(self.names[variable], *indices(leaf))
        return name(self.names[variable])

    def step(self, s: ast.Assign | ast.AugAssign) -> Step:
        """The reverse of an assignment."""
        target = loaded(s.target if isinstance(s, ast.AugAssign) else s.targets[0])
        place = reads(target.slice) if isinstance(target, ast.Subscript) else set()
        if base(target) not in self.active:
            return Step(target, lambda _: [], set(), set(), place)

        def code(result: ast.expr) -> list[ast.stmt]:
            return self.increment(s, target) if isinstance(s, ast.AugAssign) else self.assignment(s, target, result)

        probe = self.program.names.fresh("result")
        made = code(name(probe))
        read = {n for m in made for n in reads(m)}
        after = {base(target)} if probe in read else set()
        return Step(target, code, (read & self.local) | (place if made else set()), after, place)

    def scaled(self, node: ast.expr, target: ast.expr) -> ast.expr:
        return self.calculus.typed(node, self.types[base(target)])

    def held(self, node: ast.expr, out: list[ast.stmt], wanted: str = "c") -> ast.expr:
        """A value by a name of its own, where it hasn't one."""
        if isinstance(node, ast.Name):
            return node
        found = self.program.names.fresh(wanted)
        out.append(assign(found, node))
        return name(found)

    def spread(self, node: ast.expr, d: ast.expr, target: ast.expr, out: list[ast.stmt]) -> None:
        """Add what a value's cotangent gives to those of the variables in it, from the outside in."""
        terms = self.calculus.terms(node)
        if not terms:
            return
        if isinstance(node, ast.Name | ast.Subscript):
            part = self.scaled(d, target)
            op: ast.operator = ast.Add()
            if isinstance(part, ast.UnaryOp) and isinstance(part.op, ast.USub):
                part, op = negative(part), ast.Sub()
            out.append(ast.AugAssign(stored(self.cotangent(node)), op, part))
        elif isinstance(node, ast.UnaryOp):
            self.spread(node.operand, negative(d) if isinstance(node.op, ast.USub) else d, target, out)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Add | ast.Sub):
            self.spread(node.left, d, target, out)
            self.spread(node.right, negative(d) if isinstance(node.op, ast.Sub) else d, target, out)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
            for one, other in ((node.left, node.right), (node.right, node.left)):
                self.inward(one, times(d, other), target, out)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.Div):
            through = expression("d / b", d=d, b=node.right)
            if len(terms) > 1:
                through = self.held(self.scaled(through, target), out)
            self.spread(node.left, through, target, out)
            self.inward(node.right, negative(expression("q * a / b", q=through, a=node.left, b=node.right)), target, out)
        else:
            for term in terms:
                self.spread(term.leaf, term.apply(d), target, out)

    def inward(self, node: ast.expr, d: ast.expr, target: ast.expr, out: list[ast.stmt]) -> None:
        """The same, with a cotangent that is computed once where several variables get of it."""
        if len(self.calculus.terms(node)) > 1:
            sign = isinstance(d, ast.UnaryOp) and isinstance(d.op, ast.USub)
            held = self.held(self.scaled(negative(d) if sign else d, target), out)
            d = negative(held) if sign else held
        self.spread(node, d, target, out)

    def increment(self, s: ast.AugAssign, target: ast.expr) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        if self.calculus.terms(s.value):
            d = self.cotangent(target)
            # An element is read once, before anything is added to what may be the same array.
            d = self.held(d, out) if isinstance(target, ast.Subscript) else d
            self.spread(s.value, negative(d) if isinstance(s.op, ast.Sub) else d, target, out)
        return out

    def assignment(self, s: ast.Assign, target: ast.expr, result: ast.expr) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        d = self.cotangent(target)
        zero = assign(d, self.scaled(constant(0.0), target))
        leaves = self.calculus.leaves(s.value)
        cleared = isinstance(target, ast.Subscript) and base(target) in self.once
        if not leaves:
            return [] if cleared else [zero]
        same = bool(leaves & self.trades.group(base(target)))
        if same or isinstance(target, ast.Subscript):
            held = self.program.names.fresh("c")
            out.append(assign(held, d))
            if not cleared:
                out.append(zero)
            d = name(held)
        if isinstance(s.value, ast.Call):
            self.call(s.value, d, target, result, out)
        else:
            self.spread(s.value, d, target, out)
        if not same and not isinstance(target, ast.Subscript):
            out.append(zero)
        return out

    def call(self, call: ast.Call, d: ast.expr, target: ast.expr, result: ast.expr, out: list[ast.stmt]) -> None:
        function = self.calculus.reader.meaning(call.func)
        if function in rules.SELECTING:
            branches: list[list[ast.stmt]] = [[], []]
            for branch, argument in zip(branches, call.args, strict=True):
                self.spread(argument, d, target, branch)
            test = expression(f"a {rules.SELECTING[function]} b", a=call.args[0], b=call.args[1])
            if branches[0]:
                out.append(conditional(test, *branches))
            elif branches[1]:
                out.append(conditional(ast.UnaryOp(ast.Not(), test), branches[1]))
            return
        rule = self.calculus.rule(call)
        assert rule is not None
        inner: list[ast.stmt] = []
        for k, argument in enumerate(call.args):
            if self.calculus.flows(call, k):
                self.inward(argument, times(d, self.calculus.bound(rule, k, call.args, result)), target, inner)
        out += [conditional(expression("d != 0.0", d=d), inner)] if rule.singular else inner
