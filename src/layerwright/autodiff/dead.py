"""Pass: what the forward sweep must compute: what is taped, what reverse steps read, and what decides the way there."""

from __future__ import annotations

import ast

from layerwright.autodiff.activity import is_allocation, traded
from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.recompute import Locals
from layerwright.autodiff.record import Record
from layerwright.autodiff.syntax import base, reads, targets, walk


class Live:
    """The variables whose values the forward sweep computes; everything else is left out of it.

    Attributes:
        names: The variables.
    """

    def __init__(self, adjoints: Adjoints, locals_: Locals, record: Record, flags: dict[int, str]) -> None:
        self.adjoints, self.record, self.flags = adjoints, record, flags
        self.names = set(locals_.needed)
        self.assignments: list[tuple[ast.stmt, list[ast.stmt]]] = []
        self.collect(adjoints.program.body, [])
        self.close()

    def collect(self, statements: list[ast.stmt], around: list[ast.stmt]) -> None:
        """Note every assignment with what is around it, and what is needed in any case."""
        for s in statements:
            if isinstance(s, ast.If | ast.For | ast.While):
                if self.undone(s):
                    self.control(s)
                self.collect(s.body, [*around, s])
                self.collect(getattr(s, "orelse", []), [*around, s])
            elif isinstance(s, ast.Assert | ast.Raise):
                self.names |= reads(s)
                for outer in around:
                    self.control(outer)
            elif isinstance(s, ast.Assign | ast.AugAssign):
                if id(s) in self.record.taped:
                    step = self.adjoints.steps[id(s)]
                    self.names |= {step.variable} | step.place
                if traded(s):
                    self.names |= {base(t) for t in targets(s)}
                elif is_allocation(s, self.adjoints.calculus) and base(targets(s)[0]) in self.adjoints.active:
                    # The cotangent is as large, whether the array itself is needed or not.
                    self.names |= reads(s)
                self.assignments.append((s, around))

    def control(self, s: ast.stmt) -> None:
        """What decides whether a statement's blocks run, and how often."""
        self.names |= reads(s.iter if isinstance(s, ast.For) else s.test)  # type: ignore[attr-defined]
        if id(s) in self.flags:
            self.names.add(self.flags[id(s)])

    def undone(self, s: ast.stmt) -> bool:
        """Whether anything is done for a statement backward."""
        if isinstance(s, ast.If | ast.For | ast.While):
            return any(self.undone(inner) for inner in walk([*s.body, *s.orelse]))
        step = self.adjoints.steps.get(id(s))
        if step is None:
            return bool(traded(s))
        return id(s) in self.record.taped or bool(step.code(step.target))

    def keeps(self, s: ast.stmt) -> bool:
        """Whether an assignment is part of the forward sweep."""
        return any(self.adjoints.trades.group(base(t)) & self.names for t in targets(s))

    def close(self) -> None:
        """Add what the needed variables are computed of."""
        while True:
            before = len(self.names)
            for s, around in self.assignments:
                if self.keeps(s):
                    self.names |= reads(s) | {base(t) for t in targets(s)}
                    for outer in around:
                        self.control(outer)
            if len(self.names) == before:
                return
