"""Derived functions as text: every part below a comment with the user's line that it belongs to."""

from __future__ import annotations

import ast
from collections.abc import Iterable

from layerwright.autodiff.generated import Derived, generated
from layerwright.autodiff.program import Program
from layerwright.autodiff.sources import Source

_INDENT = "    "


class Comment(ast.stmt):
    """A line of its own that isn't code."""

    _fields = ("text",)

    def __init__(self, text: str) -> None:
        super().__init__()
        self.text = text


class Writer:
    """Writes statements.

    Args:
        source: The user's function; lines of others are said with their function's name.

    Attributes:
        lines: What is written.
        places: The user's `file:line` for lines of it, counted from 1.
    """

    def __init__(self, source: Source) -> None:
        self.source = source
        self.lines: list[str] = []
        self.last: tuple[object, int] | None = None
        self.places: dict[int, str] = {}

    def function(self, name: str, arguments: Iterable[str], body: list[ast.stmt], told: str) -> str:
        """A whole function."""
        self.lines = [f"def {name}({', '.join(arguments)}):", f"{_INDENT}# {told}"]
        self.block(body, 1)
        return "\n".join(self.lines) + "\n"

    def block(self, statements: list[ast.stmt], depth: int) -> None:
        """The statements of a block."""
        size = len(self.lines)
        for s in statements:
            self.statement(s, depth)
        if all(line.lstrip().startswith("#") for line in self.lines[size:]):
            self.lines.append(_INDENT * depth + "pass")

    def statement(self, s: ast.stmt, depth: int) -> None:
        """One statement, below a comment where a line of the user's begins."""
        if isinstance(s, Comment):
            self.lines.append(f"{_INDENT * depth}# {s.text}")
            self.last = None
            return
        if isinstance(s, ast.Pass):
            return
        head = _head(s)
        self.comment(s, head, depth)
        if (origin := getattr(s, "origin", None)) is not None:
            self.places[len(self.lines) + 1] = f"{origin.file}:{s.lineno}"
        self.lines += [_INDENT * depth + line for line in head.splitlines()]
        if isinstance(s, ast.For | ast.While | ast.If):
            self.block(s.body, depth + 1)
        if isinstance(s, ast.If) and s.orelse:
            self.otherwise(s.orelse, depth)

    def otherwise(self, orelse: list[ast.stmt], depth: int) -> None:
        """The `else` of an `if`, or its `elif`."""
        if len(orelse) == 1 and isinstance(orelse[0], ast.If):
            inner = orelse[0]
            self.last = (getattr(inner, "origin", None), getattr(inner, "lineno", 0))
            self.lines.append(f"{_INDENT * depth}elif {ast.unparse(inner.test)}:")
            self.block(inner.body, depth + 1)
            if inner.orelse:
                self.otherwise(inner.orelse, depth)
            return
        self.lines.append(_INDENT * depth + "else:")
        self.block(orelse, depth + 1)

    def comment(self, s: ast.stmt, head: str, depth: int) -> None:
        """What the user's line is, where it isn't said already."""
        origin, line = getattr(s, "origin", None), getattr(s, "lineno", None)
        if origin is None or line is None or (origin, line) == self.last:
            return
        self.last = (origin, line)
        told = origin.line(line)
        if told and told != head.strip():
            where = str(line) if origin.tree is self.source.tree else f"{origin.name}:{line}"
            self.lines.append(f"{_INDENT * depth}# {where}: {told}")


def _head(s: ast.stmt) -> str:
    """A statement, without its blocks."""
    if isinstance(s, ast.If):
        return f"if {ast.unparse(s.test)}:"
    if isinstance(s, ast.While):
        return f"while {ast.unparse(s.test)}:"
    if isinstance(s, ast.For):
        return f"for {ast.unparse(s.target)} in {ast.unparse(s.iter)}:"
    if isinstance(s, ast.Return) and isinstance(s.value, ast.Tuple):
        return f"return {', '.join(map(ast.unparse, s.value.elts))}"
    if not hasattr(s, "lineno"):
        s.lineno = 0
    return ast.unparse(s)


def written(
    program: Program, called: str, arguments: list[str], body: list[ast.stmt], results: list[str], what: str
) -> Derived:
    """A derived function with this body, and with a first line that tells what it is of which function."""
    called = program.names.fresh(called)
    told = f"{what} of `{program.source.name}`, derived from {program.source.file}."
    text = Writer(program.source).function(called, arguments, body, told)
    return generated(called, text, program.namespace, arguments, results)
