"""What the methods of a class store in attributes of `self`."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Iterator

from layerwright.checks.static.code import Code


@dataclasses.dataclass(frozen=True)
class Store:
    """`self.name = value` somewhere in a class.

    Attributes:
        name: The attribute.
        value: What is assigned; None where it isn't a plain assignment (a loop variable, a part of a tuple, `+=`).
        code: The function in which it stands.
        node: The target.
        statement: The statement.
    """

    name: str
    value: ast.expr | None
    code: Code
    node: ast.Attribute
    statement: ast.stmt

    @property
    def makers(self) -> set[str | None]:
        """The dotted names of what is called for the value, on either side of an `if`; None for any other value."""
        return makers(self.code, self.value)


def stores(code: Code) -> Iterator[Store]:
    """Everything that one function stores."""
    for statement in code.nodes:
        for target, value in _targets(statement):
            for node in ast.walk(target):
                stored = isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Store)
                if stored and code.dotted(node) == f"self.{node.attr}":  # type: ignore[attr-defined]
                    yield Store(node.attr, value if node is target else None, code, node, statement)  # type: ignore[attr-defined, arg-type]


def _targets(statement: ast.AST) -> Iterator[tuple[ast.expr, ast.expr | None]]:
    if isinstance(statement, ast.Assign):
        yield from ((target, statement.value) for target in statement.targets)
    elif isinstance(statement, ast.AnnAssign):
        yield statement.target, statement.value
    elif isinstance(statement, ast.AugAssign | ast.For):
        yield statement.target, None


def makers(code: Code, value: ast.expr | None) -> set[str | None]:
    """What is called for a value, with `None` itself left out."""
    if isinstance(value, ast.IfExp):
        return makers(code, value.body) | makers(code, value.orelse)
    if isinstance(value, ast.Constant) and value.value is None:
        return set()
    return {code.dotted(value.func) if isinstance(value, ast.Call) else None}
