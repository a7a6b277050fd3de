"""Reverse mode, one assignment at a time: what is done to the cotangents, and which values that reads.

The state that a step's code reads is the one before the assignment, which the tape has brought back; a rule that is
written in the result reads the target's value after it.
"""

from __future__ import annotations

import ast
import dataclasses
from collections import Counter
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
    targets,
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


class Uses:
    """Where cotangents are used: before the first such place in the text there is nothing to clear them for."""

    def __init__(self, statements: list[ast.stmt], calculus: Calculus, trades: Traded) -> None:
        self.trades, self.arguments = trades, calculus.program.arguments
        self.places: dict[int, tuple[int, tuple[int, ...]]] = {}
        self.users: dict[str, list[ast.stmt]] = {}
        self.block(statements, (), calculus)

    def block(self, statements: list[ast.stmt], loops: tuple[int, ...], calculus: Calculus) -> None:
        """Look at a block inside of loops."""
        for s in statements:
            self.places[id(s)] = (len(self.places), loops)
            if isinstance(s, ast.If | ast.For | ast.While):
                inner = loops if isinstance(s, ast.If) else (*loops, id(s))
                self.block(s.body, inner, calculus)
                self.block(s.orelse, inner, calculus)
            elif isinstance(s, ast.Assign | ast.AugAssign) and not traded(s) and not is_allocation(s, calculus):
                target = base(targets(s)[0])
                if target in calculus.active and calculus.leaves(s.value):
                    self.users.setdefault(target, []).append(s)

    def before(self, s: ast.stmt, target: ast.expr) -> bool:
        """Whether a cotangent is used by what may have run before an assignment."""
        order, loops = self.places[id(s)]
        if base(target) in self.arguments:
            return True
        for variable in self.trades.group(base(target)):
            for user in self.users.get(variable, []):
                other, around = self.places[id(user)]
                if other < order or set(loops) & set(around):
                    return True
        return False


class Adjoints:
    """The steps of a program.

    Args:
        program: A program in its last form.
        types: The types of its variables.
        active: The variables that have a cotangent.
        names: The cotangents' names, given or made here.
        once: The arrays whose elements are written once, so that their cotangents needn't be cleared.
    """

    def __init__(self, program: Program, types: Types, active: set[str], names: dict[str, str], once: set[str]) -> None:
        self.program, self.types, self.active, self.names, self.once = program, types, active, names, once
        self.calculus = Calculus(program, types, active)
        self.trades = Traded(program.body)
        self.local = program.local
        self.steps: dict[int, Step] = {}
        self.count = Counter(base(t) for s in walk(program.body) for t in targets(s))
        self.uses = Uses(program.body, self.calculus, self.trades)
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
        """An expression in the target's own precision."""
        return self.calculus.typed(node, self.types[base(target)])

    def held(self, node: ast.expr, out: list[ast.stmt], wanted: str = "c") -> ast.expr:
        """A value by a name of its own, where it hasn't one."""
        if isinstance(node, ast.Name):
            return node
        found = self.program.names.fresh(wanted)
        out.append(assign(found, node))
        return name(found)

    def spread(
        self, node: ast.expr, d: ast.expr, target: ast.expr, out: list[ast.stmt], result: ast.expr | None = None
    ) -> None:
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
            self.quotient(node, d, target, result, out)
        else:
            for term in terms:
                self.spread(term.leaf, term.apply(d), target, out)

    def quotient(
        self, node: ast.BinOp, d: ast.expr, target: ast.expr, result: ast.expr | None, out: list[ast.stmt]
    ) -> None:
        """`a / b`, with one division where both have a derivative, or where the quotient is at hand."""
        a, b = node.left, node.right
        if not self.calculus.terms(b):
            self.inward(a, expression("d / b", d=d, b=b), target, out)
        elif not self.calculus.terms(a):
            part = expression("d * r / b", d=d, r=result, b=b) if result is not None else None
            self.inward(b, negative(part or expression("d * a / (b * b)", d=d, a=a, b=b)), target, out)
        else:
            inverse = self.held(self.scaled(expression("1.0 / b", b=b), target), out, "inverse")
            through = self.held(self.scaled(times(d, inverse), target), out)
            self.spread(a, through, target, out)
            ratio = result if result is not None else expression("a * i", a=a, i=inverse)
            self.inward(b, negative(expression("q * r", q=through, r=ratio)), target, out)

    def inward(self, node: ast.expr, d: ast.expr, target: ast.expr, out: list[ast.stmt]) -> None:
        """The same, with a cotangent that is computed once where several variables get of it."""
        if len(self.calculus.terms(node)) > 1:
            sign = isinstance(d, ast.UnaryOp) and isinstance(d.op, ast.USub)
            held = self.held(self.scaled(negative(d) if sign else d, target), out)
            d = negative(held) if sign else held
        self.spread(node, d, target, out)

    def increment(self, s: ast.AugAssign, target: ast.expr) -> list[ast.stmt]:
        """The reverse of `+=` and `-=`: the cotangent stays."""
        out: list[ast.stmt] = []
        if self.calculus.terms(s.value):
            d = self.cotangent(target)
            # An element is read once, before anything is added to what may be the same array.
            d = self.held(d, out) if isinstance(target, ast.Subscript) else d
            self.spread(s.value, negative(d) if isinstance(s.op, ast.Sub) else d, target, out)
        return out

    def assignment(self, s: ast.Assign, target: ast.expr, result: ast.expr) -> list[ast.stmt]:
        """The reverse of `=`: the cotangent goes to what the value is made of."""
        out: list[ast.stmt] = []
        d = self.cotangent(target)
        zero = assign(d, self.scaled(constant(0.0), target))
        leaves = self.calculus.leaves(s.value)
        cleared = (isinstance(target, ast.Subscript) and base(target) in self.once) or not self.uses.before(s, target)
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
            single = isinstance(target, ast.Name) and self.count[target.id] == 1 and not same
            self.spread(s.value, d, target, out, result if single else None)
        if not same and not isinstance(target, ast.Subscript) and not cleared:
            out.append(zero)
        return out

    def call(self, call: ast.Call, d: ast.expr, target: ast.expr, result: ast.expr, out: list[ast.stmt]) -> None:
        """What a call gives to its arguments."""
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
