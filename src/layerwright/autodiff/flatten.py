"""Pass: numbers are computed in small steps.

Afterwards the value of an assignment is either arithmetic of variables, elements and constants whose factors are small,
or one call of such arguments: the cost of a call is in one place, and no derivative's text grows with the square of a
formula. Conditional numbers (`a if c else b`) become branches. Tests and indices stay as they are: nothing is
differentiated through them.
"""

from __future__ import annotations

import ast

from layerwright.autodiff import rules
from layerwright.autodiff.program import Program
from layerwright.autodiff.syntax import assign, conditional, name, nodes, placed, reads, rebuild
from layerwright.autodiff.types import Reader, Types

_FACTORS = (ast.Mult, ast.Div, ast.Pow, ast.Mod)


def flatten(program: Program, found: Types) -> None:
    """Bring the assignments of a program into that form; new variables are added to the types."""
    program.body = _Flatten(program, found).block(program.body)


class _Flatten:
    def __init__(self, program: Program, found: Types) -> None:
        self.program, self.types = program, found
        self.reader = Reader(found, program.namespace, program.local)

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            before: list[ast.stmt] = []
            new = self.statement(s, before)
            out += [placed(n, s) for n in (*before, *new)]
        return out

    def statement(self, s: ast.stmt, before: list[ast.stmt]) -> list[ast.stmt]:
        if isinstance(s, ast.If):
            return [ast.If(s.test, self.block(s.body), self.block(s.orelse))]
        if isinstance(s, ast.While):
            return [ast.While(s.test, self.block(s.body), [])]
        if isinstance(s, ast.For):
            return [ast.For(s.target, s.iter, self.block(s.body), [])]
        if isinstance(s, ast.Return) and s.value is not None:
            parts = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value]
            new = [self.part(p, before) if self.floating(p) else p for p in parts]
            return [ast.Return(ast.Tuple(new, ast.Load()) if isinstance(s.value, ast.Tuple) else new[0])]
        if isinstance(s, ast.Assign | ast.AugAssign) and self.floating(s.value):
            if isinstance(s.value, ast.IfExp):
                return [self.branch(s, s.value)]
            increment = isinstance(s, ast.AugAssign)
            value = self.part(s.value, before) if increment else self.whole(s.value, before)
            return [
                ast.AugAssign(s.target, s.op, value) if isinstance(s, ast.AugAssign) else ast.Assign(s.targets, value)
            ]
        return [s]

    def floating(self, node: ast.expr) -> bool:
        found = self.reader.of(node)
        return found is not None and found.floating and not found.rank

    def branch(self, s: ast.Assign | ast.AugAssign, chosen: ast.IfExp) -> ast.stmt:
        """An assignment of a conditional number as one in each branch."""
        branches = []
        for value in (chosen.body, chosen.orelse):
            one = ast.Assign(s.targets, value) if isinstance(s, ast.Assign) else ast.AugAssign(s.target, s.op, value)
            branches.append(self.block([placed(one, s)]))
        return conditional(chosen.test, *branches)

    def whole(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A value that may be one call."""
        if not isinstance(node, ast.Call) or not self.floating(node):
            return self.part(node, before)
        function = self.reader.meaning(node.func)
        if function in rules.SELECTING:
            first, *rest = [self.leaf(a, before) for a in node.args]
            for other in rest[:-1]:
                first = self.held(placed(ast.Call(node.func, [first, other], []), node), "best", before)
            return placed(ast.Call(node.func, [first, rest[-1]], []), node) if rest else first
        if rules.rule_of(function) is None:
            return node
        return placed(ast.Call(node.func, [self.part(a, before) for a in node.args], node.keywords), node)  # type: ignore[no-any-return]

    def part(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """A value without calls and conditions."""
        if not self.floating(node) or isinstance(node, ast.Name | ast.Constant | ast.Subscript | ast.Attribute):
            return node
        if isinstance(node, ast.Call):
            value = self.whole(node, before)
            known = self.reader.meaning(node.func) in rules.SELECTING or rules.rule_of(self.reader.meaning(node.func))
            return self.held(value, _name_of(node), before) if known else value
        if isinstance(node, ast.IfExp):
            result = self.fresh(node, "chosen")
            before.append(self.branch(placed(assign(result, node), node), node))
            return name(result)
        if isinstance(node, ast.BinOp):
            left, right = self.part(node.left, before), self.part(node.right, before)
            if isinstance(node.op, _FACTORS):
                left, right = self.factor(left, before), self.factor(right, before)
            return placed(ast.BinOp(left, node.op, right), node)  # type: ignore[no-any-return]
        if isinstance(node, ast.UnaryOp):
            return placed(ast.UnaryOp(node.op, self.part(node.operand, before)), node)  # type: ignore[no-any-return]
        return node

    def factor(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An operand that a derivative repeats: by name where it is more than one operation of variables."""
        operations = sum(isinstance(n, ast.BinOp) for n in nodes(node))
        if operations > 1 and self.floating(node) and reads(node) & self.reader.local:
            return self.held(node, "part", before)
        return node

    def leaf(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An operand of `max` or `min`: compared again in the derivative."""
        new = self.part(node, before)
        simple = isinstance(new, ast.Name | ast.Constant | ast.Subscript | ast.Attribute)
        simple = simple or (isinstance(new, ast.UnaryOp) and isinstance(new.operand, ast.Constant | ast.Attribute))
        return new if simple or not self.floating(new) else self.held(new, "part", before)

    def held(self, node: ast.expr, wanted: str, before: list[ast.stmt]) -> ast.expr:
        result = self.fresh(node, wanted)
        before.append(placed(assign(result, node), node))
        return name(result)

    def fresh(self, node: ast.expr, wanted: str) -> str:
        found = self.program.names.fresh(wanted)
        self.reader.local.add(found)
        kind = self.reader.of(node)
        assert kind is not None
        self.types[found] = kind
        return found


def _name_of(call: ast.Call) -> str:
    """A name for what a function gives: `exp_of`."""
    function = call.func.attr if isinstance(call.func, ast.Attribute) else getattr(call.func, "id", "value")
    return f"{function}_of"


def without_passes(statements: list[ast.stmt]) -> list[ast.stmt]:
    """Statements without `pass` where others stand beside it."""
    kept = [s for s in statements if not isinstance(s, ast.Pass)]
    return [rebuild(s, lambda _: None) for s in kept]
