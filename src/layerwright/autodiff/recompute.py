"""Pass: variables that a block of a loop or branch sets once, and that only the rest of the block reads.

Backward, such a variable gets its value back at the start of the block, all at once: computed again where that is cheap
and gives the same, else from the tape, where it was put at the end of the block.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Mapping

from layerwright.autodiff import rules
from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.indexing import distinct
from layerwright.autodiff.syntax import base, loaded, nodes, reads, targets, walk


@dataclasses.dataclass
class Local:
    """A variable of one block.

    Attributes:
        name: Its name.
        statement: The assignment that gives it its value.
        again: Whether it is computed again, not taped.
    """

    name: str
    statement: ast.Assign
    again: bool


class Locals:
    """The local variables of every block.

    Args:
        adjoints: The program's steps.
        low: Bounds from below for loop variables.
        stores: For arrays whose old elements would be taped if they were needed: in how many loops that is.
        enabled: Whether any are looked for; without, every overwritten value is taped.

    Attributes:
        of: By name.
        needed: The names whose values the reverse steps read, directly or to compute locals again.
    """

    def __init__(
        self, adjoints: Adjoints, low: dict[str, int], stores: Mapping[str, int], enabled: bool = True
    ) -> None:
        self.adjoints, self.low, self.stores = adjoints, low, stores
        self.types = adjoints.types
        self.of: dict[str, Local] = {}
        self.blocks: dict[str, int] = {}
        body = adjoints.program.body
        self.arguments = set(adjoints.program.arguments)
        self.count: dict[str, int] = {}
        self.reads: dict[str, int] = {}
        for s in walk(body):
            for t in targets(s):
                self.count[base(t)] = self.count.get(base(t), 0) + 1
        for v, n in _counted(body).items():
            self.reads[v] = n
        self.needed: set[str] = set()
        for step in adjoints.steps.values():
            self.needed |= step.before | step.after
        self.read_anyway = set(self.needed)
        if enabled:
            for s in body:
                self.inner(s, 0)
        for s in walk(body):
            if isinstance(s, ast.For):
                self.needed |= reads(s.iter)
        self.close()

    def close(self) -> None:
        """Add what computing needed locals again reads."""
        while True:
            before = len(self.needed)
            for local in self.of.values():
                if local.name in self.needed and local.again:
                    self.needed |= reads(local.statement.value)
            if len(self.needed) == before:
                return

    def inner(self, s: ast.stmt, depth: int) -> None:
        """Look at the blocks of a statement, which is inside of so many loops."""
        depth += isinstance(s, ast.For | ast.While)
        for block in (getattr(s, "body", []), getattr(s, "orelse", [])):
            for k, one in enumerate(block):
                if isinstance(one, ast.Assign) and isinstance(one.targets[0], ast.Name):
                    self.look(one, one.targets[0].id, block, block[k + 1 :], depth)
                self.inner(one, depth)

    def look(self, s: ast.Assign, variable: str, block: list[ast.stmt], rest: list[ast.stmt], depth: int) -> None:
        """Enter a variable where it is local to a block."""
        if self.count[variable] != 1 or variable in self.arguments or self.types[variable].rank:
            return
        if variable in reads(s.value) or _counted(rest).get(variable, 0) != self.reads.get(variable, 0):
            return
        again = self.cheap(s.value) and self.stable(s.value, rest) and not self.dearer(s.value, depth)
        self.of[variable] = Local(variable, s, again)
        self.blocks[variable] = id(block)

    def cheap(self, node: ast.expr) -> bool:
        """Whether computing it again costs no more than taking it from the tape."""
        for n in nodes(node):
            if isinstance(n, ast.Call):
                function = self.adjoints.calculus.reader.meaning(n.func)
                if function not in rules.CHEAP and function not in rules.PASSIVE and function not in rules.SELECTING:
                    return False
            elif isinstance(n, ast.BinOp) and isinstance(n.op, ast.Pow):
                return False
        return True

    def dearer(self, node: ast.expr, depth: int) -> bool:
        """Whether computing it again would put more on the tape: elements that it reads, when they are overwritten."""
        arrays = {v for v in reads(node) if self.types.get(v) is not None and self.types[v].rank}
        return any(self.stores.get(v, -1) >= depth for v in arrays - self.read_anyway)

    def stable(self, node: ast.expr, rest: list[ast.stmt]) -> bool:
        """Whether an expression has the same value at the end of the block."""
        group = self.adjoints.trades.group
        changed: dict[str, list[ast.expr]] = {}
        for s in walk(rest):
            for t in targets(s):
                for v in group(base(t)):
                    changed.setdefault(v, []).append(t)
        for n in nodes(node):
            if isinstance(n, ast.Subscript) and isinstance(n.value, ast.Name) and n.value.id in changed:
                if not self.kept(n, changed[n.value.id], changed):
                    return False
            elif isinstance(n, ast.Name) and n.id in changed and not self.types[n.id].rank:
                return False
        whole = [n for n in nodes(node) if isinstance(n, ast.Name) and self.types.get(n.id) and self.types[n.id].rank]
        indexed = [n.value for n in nodes(node) if isinstance(n, ast.Subscript | ast.Attribute)]
        return all(any(n is i for i in indexed) for n in whole)

    def kept(self, element: ast.Subscript, places: list[ast.expr], changed: dict[str, list[ast.expr]]) -> bool:
        """Whether an element isn't among those that are written."""
        array = base(element)
        if array in self.adjoints.once:
            return True
        return not reads(element.slice) & set(changed) and all(
            isinstance(p, ast.Subscript) and base(p) == array and distinct(loaded(p), element, self.low)  # type: ignore[arg-type]
            for p in places
        )

    def in_block(self, block: list[ast.stmt], wanted: Callable[[Local], bool] = lambda _: True) -> list[Local]:
        """The needed locals of a block, in the order of their assignments."""
        found = []
        for s in block:
            if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Name):
                local = self.of.get(s.targets[0].id)
                if local is not None and local.statement is s and local.name in self.needed and wanted(local):
                    found.append(local)
        return found


def _counted(statements: list[ast.stmt]) -> dict[str, int]:
    """How often each name is read."""
    found: dict[str, int] = {}
    for s in statements:
        for n in nodes(s):
            if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load):
                found[n.id] = found.get(n.id, 0) + 1
    return found
