"""Pass: calls of the user's own functions are replaced by what they do, with names of their own."""

from __future__ import annotations

import ast
import inspect
import types
from typing import Any

from layerwright.autodiff import fence, rules, sources
from layerwright.autodiff.program import Program
from layerwright.autodiff.returns import without_returns
from layerwright.autodiff.sources import Source
from layerwright.autodiff.syntax import (
    assign,
    base,
    conditional,
    name,
    nodes,
    placed,
    reads,
    rebuild,
    refuse,
    rename,
    targets,
    walk,
    writes,
)


def inline(program: Program) -> None:
    """Replace every call of a Python function that has no rule."""
    program.body = _Inliner(program, [program.source.function]).block(program.body)


class _Inliner:
    def __init__(self, program: Program, stack: list[Any]) -> None:
        self.program, self.stack = program, stack
        self.local = program.local

    def helper(self, node: ast.AST) -> types.FunctionType | None:
        """The function that a call calls, where it is to be replaced."""
        if not isinstance(node, ast.Call):
            return None
        function = sources.plain(sources.meaning(node.func, self.program.namespace, self.local))
        if not isinstance(function, types.FunctionType) or rules.rule_of(function) or _known(function):
            return None
        return function

    def calls(self, node: ast.AST | None) -> bool:
        """Whether there is such a call in an expression."""
        return node is not None and any(self.helper(n) for n in nodes(node))

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        for s in statements:
            before: list[ast.stmt] = []
            new = self.statement(s, before)
            out += [placed(b, s) for b in before] + [placed(n, s) for n in new]
        return out

    def statement(self, s: ast.stmt, before: list[ast.stmt]) -> list[ast.stmt]:
        if isinstance(s, ast.If):
            return [conditional(self.value(s.test, before), self.block(s.body), self.block(s.orelse))]
        if isinstance(s, ast.While):
            if not self.calls(s.test):
                return [ast.While(s.test, self.block(s.body), [])]
            first: list[ast.stmt] = []
            test = self.value(s.test, first)
            first.append(conditional(ast.UnaryOp(ast.Not(), test), [ast.Break()]))
            return [ast.While(ast.Constant(True), [*(placed(f, s) for f in first), *self.block(s.body)], [])]
        if isinstance(s, ast.For):
            return [ast.For(s.target, self.value(s.iter, before), self.block(s.body), [])]
        if not self.calls(s):
            return [s]
        if isinstance(s, ast.Expr) and self.helper(s.value):
            self.call(s.value, before)  # type: ignore[arg-type]
            return []
        if isinstance(s, ast.Assign) and self.helper(s.value):
            results = self.call(s.value, before)  # type: ignore[arg-type]
            if not results:
                refuse(s.value, f"`{ast.unparse(s.value)}` returns nothing.", fix="return a value at its end.")
            value = name(results[0]) if len(results) == 1 else ast.Tuple([name(r) for r in results], ast.Load())
            return [ast.Assign(s.targets, value)]
        return [rebuild(s, lambda n: self.value(n, before) if isinstance(n, ast.expr) else None)]

    def value(self, node: ast.expr, before: list[ast.stmt]) -> ast.expr:
        """An expression without calls of helpers, which are made in statements before it."""
        if not self.calls(node):
            return node
        if isinstance(node, ast.IfExp):
            return self.choice(node.test, node.body, node.orelse, before)
        if isinstance(node, ast.BoolOp):
            return self.chain(node, before)
        if isinstance(node, ast.Compare) and len(node.ops) > 1:
            refuse(node, "A function of your own is called in a chain of comparisons.", fix="call it in a line before.")
        if (function := self.helper(node)) is None:
            return rebuild(node, lambda n: self.value(n, before) if isinstance(n, ast.expr) and n is not node else None)  # type: ignore[no-any-return]
        results = self.call(node, before, inside=True)  # type: ignore[arg-type]
        if len(results) != 1:
            refuse(node, f"`{function.__name__}` returns {len(results)} values inside of an expression.",
                   fix="assign them to variables in a line before.")  # fmt: skip
        return name(results[0])

    def choice(self, test: ast.expr, body: ast.expr, orelse: ast.expr, before: list[ast.stmt]) -> ast.expr:
        result = self.fresh("chosen")
        test = self.value(test, before)
        branches: list[list[ast.stmt]] = [[], []]
        for branch, value in zip(branches, (body, orelse), strict=True):
            branch.append(assign(result, self.value(value, branch)))
        before.append(conditional(test, *branches))
        return name(result)

    def chain(self, node: ast.BoolOp, before: list[ast.stmt]) -> ast.expr:
        """`and` and `or`, whose later operands are computed only where they count."""
        result = self.fresh("test")
        before.append(assign(result, self.value(node.values[0], before)))
        for value in node.values[1:]:
            inner: list[ast.stmt] = []
            inner.append(assign(result, self.value(value, inner)))
            goes_on = name(result) if isinstance(node.op, ast.And) else ast.UnaryOp(ast.Not(), name(result))
            before.append(conditional(goes_on, inner))
        return name(result)

    def fresh(self, wanted: str) -> str:
        found = self.program.names.fresh(wanted)
        self.local.add(found)
        return found

    def call(self, node: ast.Call, before: list[ast.stmt], inside: bool = False) -> list[str]:
        """Put what a helper does into `before`; the variables that hold its results."""
        function = self.helper(node)
        assert function is not None
        if function in self.stack:
            refuse(node, f"`{function.__name__}` calls itself.", fix="write it as a loop.")
        source = sources.read(function)
        fence.check(source)
        self.program.sources.append(source)
        if inside and _may_write(source):
            refuse(node, f"`{source.name}` writes into an array and is called inside of an expression.",
                   fix="call it in a line of its own.")  # fmt: skip
        names = self.names_of(source)
        given = self.bound(node, source, before)
        changed = writes(source.tree.body)
        for argument, value in given.items():
            if argument not in changed and isinstance(value, ast.Name | ast.Constant):
                names[argument] = value if isinstance(value, ast.Constant) else value.id
            elif isinstance(value, ast.Name) and argument not in _rebound(source.tree.body):
                names[argument] = value.id
            else:
                names[argument] = self.fresh(f"{source.name}_{argument}")
                before.append(placed(assign(str(names[argument]), value), node))
        body = rename([s for s in source.tree.body if not _docstring(s)], names)
        inner = _Inliner(self.program, [*self.stack, function])
        inner.local = self.local | writes(body)
        ending = without_returns(inner.block(body), self.program.names, source.name)
        before += ending.body
        self.local |= writes(ending.body)
        return ending.results

    def names_of(self, source: Source) -> dict[str, str | ast.expr]:
        """New names for a helper's variables, and for what it takes from around it where names meet."""
        found: dict[str, str | ast.expr] = {}
        inner = writes(source.tree.body) | set(source.arguments)
        for local in sorted(inner - set(source.arguments)):
            found[local] = self.fresh(f"{source.name}_{local}")
        for free, value in source.namespace.items():
            if free not in inner:
                found[free] = self.program.bind(free, value)
        return found

    def bound(self, node: ast.Call, source: Source, before: list[ast.stmt]) -> dict[str, ast.expr]:
        """The helper's arguments, by name."""
        keywords = {k.arg: k.value for k in node.keywords if k.arg is not None}
        try:
            given = inspect.signature(source.function).bind(*node.args, **keywords)
        except TypeError as error:
            refuse(node, f"`{source.name}` can't be called like that: {error}.", fix="pass every argument.")
        given.apply_defaults()
        found: dict[str, ast.expr] = {}
        for argument, value in given.arguments.items():
            if not isinstance(value, ast.expr):
                found[argument] = name(self.program.bind(f"{source.name}_{argument}", value))
            else:
                found[argument] = self.value(value, before)
        return found


def _known(function: types.FunctionType) -> bool:
    """Whether it isn't the user's: NumPy's own functions, and what tapes are made with."""
    module = function.__module__ or ""
    return module.split(".")[0] == "numpy" or module == "layerwright.autodiff.stack"


def _docstring(statement: ast.stmt) -> bool:
    return isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)


def _may_write(source: Source) -> bool:
    """Whether a helper changes what it is given: it writes into an argument, or calls something for its effect."""
    alone = any(isinstance(s, ast.Expr) and isinstance(s.value, ast.Call) for s in walk(source.tree.body))
    given = [s.value for s in walk(source.tree.body) if isinstance(s, ast.Assign)]
    parts = any(isinstance(v, ast.Name | ast.Subscript) and reads(v) & set(source.arguments) for v in given)
    stored = _stored_into(source.tree.body)
    return alone or bool(stored & set(source.arguments)) or (parts and bool(stored))


def _rebound(statements: list[ast.stmt]) -> set[str]:
    """The names that are bound as a whole."""
    return {t.id for s in walk(statements) for t in targets(s) if isinstance(t, ast.Name)}


def _stored_into(statements: list[ast.stmt]) -> set[str]:
    """The arrays that are written to."""
    return {base(t) for s in walk(statements) for t in targets(s) if isinstance(t, ast.Subscript)}
