"""Pass: which variables depend on the inputs, and which ones the outputs depend on.

An array counts as one variable, and arrays that trade names as one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator

from layerwright.autodiff.calculus import Calculus
from layerwright.autodiff.syntax import base, walk


class Traded:
    """Which arrays trade names, directly or through others."""

    def __init__(self, statements: Iterable[ast.stmt]) -> None:
        self.groups: dict[str, set[str]] = {}
        for s in walk(statements):
            if trade := traded(s):
                group = set.union(*(self.group(v) for v in trade))
                self.groups.update(dict.fromkeys(group, group))

    def group(self, variable: str) -> set[str]:
        """The variables that may hold the same array over time, this one among them."""
        return self.groups.get(variable, {variable})


def traded(s: ast.stmt) -> list[str]:
    """The two arrays that trade names in a statement; none elsewhere."""
    if isinstance(s, ast.Assign) and isinstance(s.targets[0], ast.Tuple):
        return [base(t) for t in s.targets[0].elts]
    return []


def edges(statements: Iterable[ast.stmt], calculus: Calculus) -> Iterator[tuple[str, set[str]]]:
    """For every assignment, the variable and those that a derivative comes from; both are floating."""
    for s in walk(statements):
        if isinstance(s, ast.Assign | ast.AugAssign) and not traded(s):
            target = base(s.target if isinstance(s, ast.AugAssign) else s.targets[0])
            if target in calculus.active and not is_allocation(s, calculus):
                yield target, calculus.leaves(s.value)


def is_allocation(s: ast.stmt, calculus: Calculus) -> bool:
    """Whether a statement makes an array."""
    if not isinstance(s, ast.Assign) or not isinstance(s.targets[0], ast.Name):
        return False
    kind = calculus.types.get(s.targets[0].id)
    return kind is not None and kind.rank > 0


def varied(statements: list[ast.stmt], calculus: Calculus, inputs: Iterable[str]) -> set[str]:
    """The variables that depend on the inputs."""
    return _reached(statements, inputs, [(leaves, {target}) for target, leaves in edges(statements, calculus)])


def useful(statements: list[ast.stmt], calculus: Calculus, outputs: Iterable[str]) -> set[str]:
    """The variables that the outputs depend on."""
    return _reached(statements, outputs, [({target}, leaves) for target, leaves in edges(statements, calculus)])


def _reached(statements: list[ast.stmt], start: Iterable[str], steps: list[tuple[set[str], set[str]]]) -> set[str]:
    """What is reached from some variables: by steps, from any of the first to all of the second, and by trades."""
    found, trades = set(start), Traded(statements)
    while True:
        before = len(found)
        for some, others in steps:
            if some & found:
                found |= others
        for variable in list(found):
            found |= trades.group(variable)
        if len(found) == before:
            return found
