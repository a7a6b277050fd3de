"""Pass: `break` and `continue` become flags and branches, so that every block runs from its first line to its last.

A loop that a flag ends keeps the flag's name: it stops after the round in which the flag was set.
"""

from __future__ import annotations

import ast

from layerwright.autodiff.program import Program
from layerwright.autodiff.returns import _without_flag
from layerwright.autodiff.syntax import assign, conditional, name, placed, reads, walk
from layerwright.autodiff.types import TRUTH, Types

_LEAVES = ast.Break | ast.Continue


class Exits:
    """Rewrites a program.

    Attributes:
        flags: For every loop that may end early, by identity, its flag.
    """

    def __init__(self, program: Program, types: Types) -> None:
        self.program, self.types = program, types
        self.flags: dict[int, str] = {}
        program.body, _, _ = self.block(program.body, ("", ""))

    def block(self, statements: list[ast.stmt], loop: tuple[str, str]) -> tuple[list[ast.stmt], set[str], bool]:
        """The new statements, the flags that they may set, and whether they always set one."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            rest = statements[k + 1 :]
            if isinstance(s, _LEAVES):
                flag = loop[isinstance(s, ast.Continue)]
                return [*out, placed(assign(flag, ast.Constant(True)), s)], {flag}, True
            if isinstance(s, ast.For | ast.While):
                out += self.loop(s)
                continue
            if not isinstance(s, ast.If):
                out.append(s)
                continue
            body, some, all_ = self.block(s.body, loop)
            orelse, other, other_all = self.block(s.orelse, loop)
            if not some and not other:
                out.append(placed(conditional(s.test, body, orelse), s))
                continue
            if all_ and not other:
                more, flags, always = self.block([*s.orelse, *rest], loop)
                return [*out, placed(conditional(s.test, body, more), s)], some | flags, always
            if other_all and not some:
                more, flags, always = self.block([*s.body, *rest], loop)
                return [*out, placed(conditional(s.test, more, orelse), s)], other | flags, always
            out.append(placed(conditional(s.test, body, orelse), s))
            more, flags, always = self.block(rest, loop)
            if more:
                test: ast.expr = name(min(some | other))
                if len(some | other) > 1:
                    test = ast.BoolOp(ast.Or(), [name(f) for f in sorted(some | other)])
                out.append(placed(conditional(ast.UnaryOp(ast.Not(), test), more), s))
            return out, some | other | flags, (all_ and other_all) or always
        return out, set(), False

    def loop(self, s: ast.For | ast.While) -> list[ast.stmt]:
        """A loop, with its flags where they are used."""
        stop, skip = self.program.names.fresh("stop"), self.program.names.fresh("skip")
        body, flags, _ = self.block(s.body, (stop, skip))
        out: list[ast.stmt] = []
        if skip in flags:
            if any(skip in reads(inner) for inner in walk(body)):
                body = [placed(assign(skip, ast.Constant(False)), s), *body]
                self.types[skip] = TRUTH
            else:
                body = self.without(body, skip)
        made: ast.For | ast.While = (
            ast.For(s.target, s.iter, body or [ast.Pass()], [])
            if isinstance(s, ast.For)
            else ast.While(s.test, body or [ast.Pass()], [])
        )
        if stop in flags:
            out.append(placed(assign(stop, ast.Constant(False)), s))
            self.flags[id(made)] = stop
            self.types[stop] = TRUTH
        return [*out, placed(made, s)]

    def without(self, body: list[ast.stmt], flag: str) -> list[ast.stmt]:
        """A body without the assignments to a flag; its loops keep their own."""
        before = [s for s in walk(body) if isinstance(s, ast.For | ast.While)]
        new = _without_flag(body, flag)
        after = [s for s in walk(new) if isinstance(s, ast.For | ast.While)]
        for old, other in zip(before, after, strict=True):
            if id(old) in self.flags:
                self.flags[id(other)] = self.flags[id(old)]
        self.old = [*getattr(self, "old", []), *before]  # Kept alive: identities are keys.
        return new
