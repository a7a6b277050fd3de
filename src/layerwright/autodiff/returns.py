"""Pass: `return` inside of a function becomes assignments, branches and `break`, so that only the end is left."""

from __future__ import annotations

import ast
import dataclasses

from layerwright.autodiff.syntax import Names, assign, conditional, name, placed, reads, refuse, walk


@dataclasses.dataclass
class Ending:
    """A function without `return`.

    Attributes:
        body: Its statements.
        results: The variables that hold what it returns.
    """

    body: list[ast.stmt]
    results: list[str]


def without_returns(body: list[ast.stmt], names: Names, wanted: str) -> Ending:
    """Statements that fall off their end, with what was returned in variables."""
    found = [s for s in walk(body) if isinstance(s, ast.Return)]
    counts = {_count(s) for s in found}
    if len(counts) > 1:
        refuse(
            found[-1], "One `return` gives another number of values than the other.", fix="return the same everywhere."
        )
    results = [names.fresh(wanted) for _ in range(counts.pop() if counts else 0)]
    if not found:
        return Ending(body, [])
    walker = _Returns(results, names.fresh("done"))
    new, _, always = walker.block(body, in_loop=False)
    if results and not always and not walker.certain:
        refuse(found[0], "Not every path through the function returns a value.", fix="return one at the end as well.")
    if walker.tested:
        new = [placed(assign(walker.done, ast.Constant(False)), body[0]), *new]
    else:
        new = _without_flag(new, walker.done)
    return Ending(new, results)


def _count(statement: ast.Return) -> int:
    if statement.value is None:
        return 0
    return len(statement.value.elts) if isinstance(statement.value, ast.Tuple) else 1


class _Returns:
    """Rewrites blocks; a flag says that the function is done, where branches alone can't say it."""

    def __init__(self, results: list[str], done: str) -> None:
        self.results, self.done = results, done
        self.tested = self.certain = False

    def block(self, statements: list[ast.stmt], in_loop: bool) -> tuple[list[ast.stmt], bool, bool]:
        """The new statements, whether they may return, and whether they always do."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(s, ast.Return):
                return [*out, *self.leave(s, in_loop)], True, True
            if not isinstance(s, ast.If | ast.For | ast.While) or not _returns(s):
                out.append(s)
                continue
            if isinstance(s, ast.If):
                body, some, all_ = self.block(s.body, in_loop)
                orelse, other_some, other_all = self.block(s.orelse, in_loop)
                if all_ and other_all:
                    return [*out, placed(conditional(s.test, body, orelse), s)], True, True
                if in_loop:
                    out.append(placed(conditional(s.test, body, orelse), s))
                    continue
                if all_ and not other_some:
                    new, _, always = self.block([*s.orelse, *rest], in_loop)
                    return [*out, placed(conditional(s.test, body, new), s)], True, always
                if other_all and not some:
                    new, _, always = self.block([*s.body, *rest], in_loop)
                    return [*out, placed(conditional(s.test, new, orelse), s)], True, always
                out.append(placed(conditional(s.test, body, orelse), s))
            else:
                out.append(self.loop(s))
            return [*out, *self.after(s, rest, in_loop)], True, False
        return out, any(_returns(s) for s in statements), False

    def loop(self, s: ast.For | ast.While) -> ast.stmt:
        body, _, _ = self.block(s.body, in_loop=True)
        new = ast.For(s.target, s.iter, body, []) if isinstance(s, ast.For) else ast.While(s.test, body, [])
        return placed(new, s)  # type: ignore[no-any-return]

    def after(self, s: ast.stmt, rest: list[ast.stmt], in_loop: bool) -> list[ast.stmt]:
        """What follows a statement that may have returned."""
        if in_loop:
            self.tested = True
            new, _, _ = self.block(rest, in_loop)
            return [placed(conditional(name(self.done), [ast.Break()]), s), *new]
        new, _, always = self.block(rest, in_loop)
        self.certain = self.certain or always
        if not new:
            return []
        self.tested = True
        return [placed(conditional(ast.UnaryOp(ast.Not(), name(self.done)), new), s)]

    def leave(self, s: ast.Return, in_loop: bool) -> list[ast.stmt]:
        values = s.value.elts if isinstance(s.value, ast.Tuple) else [s.value] if s.value is not None else []
        new: list[ast.stmt] = [assign(r, v) for r, v in zip(self.results, values, strict=True)]
        new.append(assign(self.done, ast.Constant(True)))
        if in_loop:
            new.append(ast.Break())
        return [placed(n, s) for n in new]


def _returns(statement: ast.stmt) -> bool:
    return any(isinstance(s, ast.Return) for s in walk([statement]))


def _without_flag(statements: list[ast.stmt], flag: str) -> list[ast.stmt]:
    """The statements without the assignments to a flag that nothing reads."""
    assert not any(flag in reads(s) for s in walk(statements))
    out: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name) and s.targets[0].id == flag:
            continue
        if isinstance(s, ast.If):
            s = placed(conditional(s.test, _without_flag(s.body, flag), _without_flag(s.orelse, flag)), s)
        elif isinstance(s, ast.For):
            s = placed(ast.For(s.target, s.iter, _without_flag(s.body, flag) or [ast.Pass()], []), s)
        elif isinstance(s, ast.While):
            s = placed(ast.While(s.test, _without_flag(s.body, flag) or [ast.Pass()], []), s)
        out.append(s)
    return out
