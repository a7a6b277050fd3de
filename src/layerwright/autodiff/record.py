"""Pass: which values must be on the tape, because a reverse step reads them after they are overwritten.

The set of variables whose present value some earlier step's reverse will read is followed through the program; where
one of them is overwritten, its old value is taped. (Hascoët, Naumann and Pascual: "To be recorded" analysis, 2005.)
"""

from __future__ import annotations

import ast

from layerwright.autodiff.activity import traded
from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.recompute import Locals
from layerwright.autodiff.syntax import base, reads, targets, walk, writes


class Record:
    """What is taped.

    Args:
        adjoints: The program's steps.
        locals_: Its local variables.
        exempt: The assignments of elements whose old value nothing needs.

    Attributes:
        taped: The assignments, by identity, before which the old value is taped.
        again: The branches and loops, by identity, whose test or bounds are computed again.
    """

    def __init__(self, adjoints: Adjoints, locals_: Locals, exempt: set[int], everything: bool = False) -> None:
        self.adjoints, self.locals, self.exempt, self.everything = adjoints, locals_, exempt, everything
        self.taped: set[int] = set()
        body = adjoints.program.body
        self.group = adjoints.trades.group
        self.loops = {base(s.target) for s in walk(body) if isinstance(s, ast.For)}
        self.written = writes(body)
        self.again = {id(s) for s in walk(body) if self.repeats(s)}
        for s in walk(body):
            if isinstance(s, ast.If) and id(s) in self.again:
                locals_.needed |= reads(s.test)
        locals_.close()
        self.block(body, set())

    def repeats(self, s: ast.stmt) -> bool:
        """Whether a test or a loop's bounds can be computed again afterwards."""
        if isinstance(s, ast.For):
            return not self.changed(reads(s.iter), s.body)
        if isinstance(s, ast.If):
            names = reads(s.test)
            return all(self.free(v) for v in names) and not self.changed(names, [*s.body, *s.orelse])
        return False

    def free(self, variable: str) -> bool:
        """Whether a variable's value is there backward without being taped for that."""
        if variable in self.loops or variable not in self.written:
            return True
        local = self.locals.of.get(variable)
        return local is not None and (local.again or variable in self.locals.needed)

    def changed(self, names: set[str], statements: list[ast.stmt]) -> bool:
        """Whether statements write any of the variables."""
        found = {v for w in writes(statements) for v in self.group(w)}
        return bool(names & found)

    def block(self, statements: list[ast.stmt], live: set[str]) -> set[str]:
        """Follow the set through a block."""
        live = set(live)
        for s in statements:
            live = self.statement(s, live)
        for local in self.locals.in_block(statements):
            if local.again:
                live |= reads(local.statement.value)
        return live - set(self.locals.of)

    def statement(self, s: ast.stmt, live: set[str]) -> set[str]:
        """Follow the set through a statement."""
        if isinstance(s, ast.If):
            # A test that is computed again reads only what is never overwritten, and locals.
            return self.block(s.body, live) | self.block(s.orelse, live)
        if isinstance(s, ast.For | ast.While):
            while True:
                after = self.block(s.body, live)
                if after <= live:
                    break
                live |= after
            return live | (reads(s.iter) if isinstance(s, ast.For) and id(s) in self.again else set())
        step = self.adjoints.steps.get(id(s))
        if step is None:
            # An array that is made, or two that trade names: what they hold stays where it is.
            return live | (reads(*targets(s)) if not traded(s) else set())
        variable, scalar = step.variable, isinstance(step.target, ast.Name)
        before = set(step.before)
        if variable not in self.locals.of:
            group = self.group(variable)
            if (group & (live | before) or self.everything) and id(s) not in self.exempt:
                self.taped.add(id(s))
                live |= step.place
            if scalar:
                live, before = live - {variable}, before - {variable}
        return (live | before | step.after) - set(self.locals.of)
