"""How a derivative flows through the value of one assignment, in either direction.

A value is linear in the derivatives of the variables and elements it is computed of: for each of these it has a `Term`,
which maps the derivative on one side to its part on the other. Forward it is applied to the tangent of the variable,
backward to the cotangent of the value.
"""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Callable

from layerwright.autodiff import rules
from layerwright.autodiff.program import Program
from layerwright.autodiff.syntax import base, constant, expression, loaded, name, nodes, rebuild, refuse, text
from layerwright.autodiff.types import Reader, Type, Types

Linear = Callable[[ast.expr], ast.expr]


@dataclasses.dataclass(frozen=True)
class Term:
    """The part of one variable or element in a value's derivative."""

    leaf: ast.expr
    apply: Linear

    @property
    def variable(self) -> str:
        """The variable."""
        return base(self.leaf)


def times(d: ast.expr, factor: ast.expr) -> ast.expr:
    """A derivative times a factor; either may be 1 or -1."""
    if _value(d) == 1.0:
        return factor
    value = _value(factor)
    if value == 1.0:
        return d
    if value == -1.0:
        return negative(d)
    if isinstance(factor, ast.UnaryOp) and isinstance(factor.op, ast.USub):
        return negative(times(d, factor.operand))
    return expression("d * f", d=d, f=factor)


def plus(a: ast.expr | None, b: ast.expr) -> ast.expr:
    """A sum that begins with nothing."""
    if a is None:
        return b
    if isinstance(b, ast.UnaryOp) and isinstance(b.op, ast.USub):
        return expression("a - b", a=a, b=b.operand)
    return expression("a + b", a=a, b=b)


def negative(d: ast.expr) -> ast.expr:
    """A derivative with the other sign."""
    if isinstance(d, ast.UnaryOp) and isinstance(d.op, ast.USub):
        return d.operand
    return expression("-d", d=d)


def _value(node: ast.expr) -> float | None:
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub) and isinstance(node.operand, ast.Constant):
        return -node.operand.value  # type: ignore[operator, return-value]
    return node.value if isinstance(node, ast.Constant) and isinstance(node.value, int | float) else None


class Calculus:
    """The terms of values.

    Args:
        program: Where names have their meaning.
        types: The variables' types.
        active: The variables that have a derivative; None for all floating ones.
    """

    def __init__(self, program: Program, types: Types, active: set[str] | None = None) -> None:
        self.program, self.types = program, types
        self.reader = Reader(types, program.namespace, program.local)
        self.active = {v for v, t in types.items() if t.floating} if active is None else active

    def leaves(self, node: ast.expr) -> set[str]:
        """The active variables that a derivative flows through into a value."""
        if isinstance(node, ast.Call):
            return {v for k, a in enumerate(node.args) if self.flows(node, k) for v in self.leaves(a)}
        return {t.variable for t in self.terms(node)}

    def flows(self, call: ast.Call, k: int) -> bool:
        """Whether anything is differentiated through an argument of a call."""
        function = self.reader.meaning(call.func)
        if function in rules.SELECTING:
            return True
        rule = self.rule(call)
        return rule is not None and _value(rule.partials[k]) != 0.0

    def rule(self, call: ast.Call) -> rules.Rule | None:
        """The rule of a call; None where its value has no derivative."""
        function = self.reader.meaning(call.func)
        found = rules.rule_of(function)
        if found is None or len(found.arguments) != len(call.args) or call.keywords:
            kind = self.reader.of(call)
            inside = {v for a in call.args for v in self.touched(a)}
            if function in rules.PASSIVE or not inside or (kind is not None and not kind.floating):
                return None
            called = text(call.func)
            if found is not None:
                refuse(call, f"`{text(call)}` is called with other arguments than its rule has.",
                       fix=f"pass {len(found.arguments)} numbers.")  # fmt: skip
            refuse(call, f"`{called}` has no rule for its derivative.",
                   fix=f"give one with `@lw.derivatives.rule({called})`, or compute it otherwise.")  # fmt: skip
        return found

    def singular(self) -> bool:
        """Whether a slope anywhere in the program can be infinite where the value is finite."""
        for s in self.program.body:
            for n in nodes(s):
                if isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow):
                    exponent = _value(n.right)
                    if exponent is None or exponent < 1:
                        return True
                found = rules.rule_of(self.reader.meaning(n.func)) if isinstance(n, ast.Call) else None
                if found is not None and found.singular:
                    return True
        return False

    def touched(self, node: ast.expr) -> set[str]:
        """The active variables that stand anywhere in an expression."""
        return {n.id for n in nodes(node) if isinstance(n, ast.Name) and n.id in self.active}

    def terms(self, node: ast.expr, along: Linear = lambda d: d) -> list[Term]:
        """The terms of arithmetic."""
        if isinstance(node, ast.Name | ast.Subscript):
            inner = node
            while isinstance(inner, ast.Subscript):
                inner = inner.value  # type: ignore[assignment]
            if not isinstance(inner, ast.Name) or inner.id not in self.active:
                return []
            return [Term(loaded(node), along)]
        if isinstance(node, ast.UnaryOp):
            if isinstance(node.op, ast.USub):
                return self.terms(node.operand, lambda d: along(negative(d)))
            return self.terms(node.operand, along) if isinstance(node.op, ast.UAdd) else []
        if isinstance(node, ast.BinOp):
            return self.arithmetic(node, along)
        if isinstance(node, ast.Call):
            if not self.touched(node):
                return []
            if self.rule(node) is not None or self.reader.meaning(node.func) in rules.SELECTING:
                refuse(node, f"`{text(node)}` is called where its derivative can't be taken.", fix="assign it first.")
            return []
        if isinstance(node, ast.BoolOp) and (kind := self.reader.of(node)) and kind.floating and self.touched(node):
            refuse(node, f"`{text(node)}` chooses a number with `and` or `or`.", fix="write `a if test else b`.")
        return []

    def arithmetic(self, node: ast.BinOp, along: Linear) -> list[Term]:
        """The terms of one operation."""
        a, b, op = node.left, node.right, node.op
        if isinstance(op, ast.Add):
            return [*self.terms(a, along), *self.terms(b, along)]
        if isinstance(op, ast.Sub):
            return [*self.terms(a, along), *self.terms(b, lambda d: along(negative(d)))]
        if isinstance(op, ast.Mult):
            return [*self.terms(a, lambda d: along(times(d, b))), *self.terms(b, lambda d: along(times(d, a)))]
        if isinstance(op, ast.Div):
            left = self.terms(a, lambda d: along(expression("d / b", d=d, b=b)))
            return [*left, *self.terms(b, lambda d: along(negative(expression("d * a / (b * b)", d=d, a=a, b=b))))]
        if isinstance(op, ast.Mod):
            math_name = name(self.program.bind("math", math))
            whole = expression("math.floor(a / b)", math=math_name, a=a, b=b)
            return [*self.terms(a, along), *self.terms(b, lambda d: along(negative(times(d, whole))))]
        if isinstance(op, ast.Pow):
            return self.power(node, along)
        if not isinstance(op, ast.FloorDiv | ast.BitAnd | ast.BitOr | ast.BitXor | ast.LShift | ast.RShift):
            refuse(node, f"`{text(node)}` isn't differentiated.", fix="write it as a loop over the elements.")
        return []

    def power(self, node: ast.BinOp, along: Linear) -> list[Term]:
        """The terms of `a ** b`."""
        a, b = node.left, node.right
        exponent = _value(b)
        if exponent is not None and exponent == int(exponent) and exponent >= 1:
            if exponent == 1:
                return self.terms(a, along)
            rest = a if exponent == 2 else expression("a ** n", a=a, n=constant(type(b.value)(exponent - 1)))  # type: ignore[attr-defined]
            factor = expression("n * r", n=constant(float(exponent)), r=rest)
            return self.terms(a, lambda d: along(times(d, factor)))
        if exponent is not None and exponent > 1:
            factor = expression("n * a ** m", n=constant(exponent), a=a, m=constant(exponent - 1))
            return self.terms(a, lambda d: along(times(d, factor)))
        found = []
        for k, side in enumerate((a, b)):
            inner = self.terms(side)
            if inner:
                partial = self.bound(rules.POWERS, k, [a, b], node)
                found += [Term(term.leaf, _guarded(term.apply, partial, along)) for term in inner]
        return found

    def bound(self, rule: rules.Rule, k: int, arguments: list[ast.expr], result: ast.expr) -> ast.expr:
        """A partial derivative, whose names mean the same in the program as in the rule."""
        found = rule.partial(k, arguments, result)
        own = {n: self.program.bind(n, value) for n, value in rule.namespace.items()}
        if all(n == new for n, new in own.items()):
            return found
        plain = rules.Rule(
            rule.arguments, rule.result, tuple(_renamed(p, own) for p in rule.partials), {}, rule.singular
        )
        return plain.partial(k, arguments, result)

    def typed(self, node: ast.expr, kind: Type) -> ast.expr:
        """An expression whose numbers don't widen a float32."""
        if kind.bits >= 64 or not kind.floating:
            return node
        import numpy as np

        numpy = name(self.program.bind("np", np))

        def change(n: ast.AST) -> ast.AST | None:
            if isinstance(n, ast.Subscript | ast.Call):
                return n if isinstance(n, ast.Subscript) else None
            if isinstance(n, ast.Constant) and isinstance(n.value, float):
                return expression("np.float32(c)", np=numpy, c=n)
            return None

        return rebuild(node, change)  # type: ignore[no-any-return]


def _renamed(node: ast.expr, names: dict[str, str]) -> ast.expr:
    return expression(text(node), **{n: name(new) for n, new in names.items()})


def _guarded(inner: Linear, partial: ast.expr, along: Linear) -> Linear:
    """A factor that may be infinite: nothing comes of it where the derivative is 0."""

    def apply(d: ast.expr) -> ast.expr:
        through = inner(d)
        return along(expression("d * p if d != 0.0 else 0.0", d=through, p=partial))

    return apply
