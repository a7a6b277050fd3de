"""Small helpers on Python's syntax trees: building, reading, renaming, and the error at a node.

Trees are shared between passes and never changed in place: `rebuild` makes new ones.
"""

from __future__ import annotations

import ast
import functools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, NoReturn

from layerwright.errors import DifferentiationError

Change = Callable[[ast.AST], ast.AST | None]


def refuse(node: ast.AST, message: str, *, fix: str, expected: str | None = None) -> NoReturn:
    """Raise the error for something that can't be differentiated, at the user's line."""
    origin, line = getattr(node, "origin", None), getattr(node, "lineno", None)
    where = got = None
    if origin is not None and line is not None:
        where = f"{origin.file}:{line}:{getattr(node, 'col_offset', 0) + 1}"
        got = origin.line(line)
    raise DifferentiationError(message, expected=expected, got=got, fix=fix, where=where)


def rebuild(node: Any, change: Change) -> Any:
    """A tree in which every node that `change` answers is replaced, from the outside in; None goes on inside."""
    new = change(node)
    if new is not None:
        return placed(new, node)
    fields: dict[str, Any] = {}
    for field, value in ast.iter_fields(node):
        if isinstance(value, ast.AST) and value._fields:
            fields[field] = rebuild(value, change)
        elif isinstance(value, list):
            fields[field] = [
                rebuild(part, change) if isinstance(part, ast.AST) and part._fields else part for part in value
            ]
        else:
            fields[field] = value
    return placed(type(node)(**fields), node)


def placed(new: ast.AST, old: ast.AST) -> Any:
    """The new node, said to stand where the old one stands, and so all in it that has no place yet."""
    origin = getattr(old, "origin", None)
    if origin is None or not hasattr(old, "lineno"):
        return new
    line, column = old.lineno, getattr(old, "col_offset", 0)
    stack = [new]
    while stack:
        node = stack.pop()
        if getattr(node, "origin", None) is None:
            node.lineno = node.end_lineno = line  # type: ignore[attr-defined]
            node.col_offset = node.end_col_offset = column  # type: ignore[attr-defined]
            node.origin = origin  # type: ignore[attr-defined]
            stack.extend(children(node))
    return new


def children(node: ast.AST) -> list[ast.AST]:
    """The parts of a node, without operators and the like."""
    found: list[ast.AST] = []
    for field in node._fields:
        value = getattr(node, field, None)
        if isinstance(value, list):
            found.extend(v for v in value if isinstance(v, ast.AST) and v._fields)
        elif isinstance(value, ast.AST) and value._fields:
            found.append(value)
    return found


def nodes(node: ast.AST) -> Iterator[ast.AST]:
    """A node and all in it, without operators and the like."""
    stack = [node]
    while stack:
        one = stack.pop()
        yield one
        stack.extend(children(one))


def name(identifier: str) -> ast.Name:
    """A variable that is read."""
    return ast.Name(identifier, ast.Load())


def constant(value: Any) -> ast.expr:
    """A number; negative ones as Python's parser has them."""
    if isinstance(value, float | int) and not isinstance(value, bool) and value < 0:
        return ast.UnaryOp(ast.USub(), ast.Constant(-value))
    return ast.Constant(value)


@functools.lru_cache(maxsize=4096)
def _parsed(template: str) -> ast.expr:
    return ast.parse(template, mode="eval").body


def expression(template: str, **parts: ast.expr) -> ast.expr:
    """An expression from text, in which names are replaced by expressions."""

    def change(node: ast.AST) -> ast.AST | None:
        return parts.get(node.id) if isinstance(node, ast.Name) else None

    tree: ast.expr = rebuild(_parsed(template), change)
    return tree


def assign(target: str | ast.expr, value: ast.expr) -> ast.Assign:
    """`target = value`."""
    place = ast.Name(target, ast.Store()) if isinstance(target, str) else stored(target)
    return ast.Assign([place], value)


def stored(target: ast.expr) -> Any:
    """A place that is written instead of read."""
    if isinstance(target, ast.Name):
        return placed(ast.Name(target.id, ast.Store()), target)
    if isinstance(target, ast.Subscript):
        return placed(ast.Subscript(target.value, target.slice, ast.Store()), target)
    return target


def loaded(target: ast.expr) -> ast.expr:
    """A place that is read instead of written."""
    if isinstance(target, ast.Name):
        return placed(ast.Name(target.id, ast.Load()), target)  # type: ignore[no-any-return]
    if isinstance(target, ast.Subscript):
        return placed(ast.Subscript(target.value, target.slice, ast.Load()), target)  # type: ignore[no-any-return]
    return target


def element(array: str, *index: ast.expr) -> ast.Subscript:
    """`array[index]`."""
    return ast.Subscript(name(array), index[0] if len(index) == 1 else ast.Tuple(list(index), ast.Load()), ast.Load())


def indices(node: ast.Subscript) -> list[ast.expr]:
    """The parts of an index."""
    return list(node.slice.elts) if isinstance(node.slice, ast.Tuple) else [node.slice]


def text(node: ast.AST) -> str:
    """The node as Python."""
    return ast.unparse(node)


def reads(*nodes: ast.AST | None) -> set[str]:
    """The names that expressions read; in a target these are the names in its index."""
    found: set[str] = set()
    for node in nodes:
        if node is not None:
            found |= _reads(node)
    return found


def _reads(node: ast.AST) -> frozenset[str]:
    """The same of one node, kept with it: trees don't change."""
    known: frozenset[str] | None = node.__dict__.get("reads")
    if known is None:
        if isinstance(node, ast.Name):
            known = frozenset([node.id]) if isinstance(node.ctx, ast.Load) else frozenset()
        else:
            known = frozenset().union(*map(_reads, children(node)))
        node.reads = known  # type: ignore[attr-defined]
    return known


def base(target: ast.expr) -> str:
    """The variable of `v` or `v[...]`."""
    while isinstance(target, ast.Subscript):
        target = target.value
    assert isinstance(target, ast.Name), ast.dump(target)
    return target.id


def walk(statements: Iterable[ast.stmt]) -> Iterator[ast.stmt]:
    """Every statement, in the order of the text."""
    for statement in statements:
        yield statement
        for field in ("body", "orelse"):
            yield from walk(getattr(statement, field, []))


def targets(statement: ast.stmt) -> list[ast.expr]:
    """The places that one statement writes itself."""
    if isinstance(statement, ast.Assign):
        found = list(statement.targets)
    elif isinstance(statement, ast.AugAssign | ast.AnnAssign | ast.For):
        found = [statement.target]
    else:
        return []
    flat = []
    while found:
        target = found.pop(0)
        if isinstance(target, ast.Tuple | ast.List):
            found = list(target.elts) + found
        else:
            flat.append(target)
    return flat


def writes(statements: Iterable[ast.stmt]) -> set[str]:
    """The variables that statements write, in whole or in part."""
    found: set[str] = set()
    for s in statements:
        found |= _writes(s)
    return found


def _writes(s: ast.stmt) -> frozenset[str]:
    """The same of one statement, kept with it."""
    known: frozenset[str] | None = s.__dict__.get("writes")
    if known is None:
        own = {base(t) for t in targets(s) if isinstance(t, ast.Name | ast.Subscript)}
        known = frozenset(own).union(*(_writes(i) for f in ("body", "orelse") for i in getattr(s, f, [])))
        s.writes = known  # type: ignore[attr-defined]
    return known


def rename(statements: Sequence[ast.stmt], names: Mapping[str, str | ast.expr]) -> list[ast.stmt]:
    """Statements with other names; what is only read may become an expression."""

    def change(node: ast.AST) -> ast.AST | None:
        if isinstance(node, ast.Name) and node.id in names:
            new = names[node.id]
            return ast.Name(new, node.ctx) if isinstance(new, str) else new
        return None

    return [rebuild(statement, change) for statement in statements]


def conditional(test: ast.expr, body: list[ast.stmt], orelse: list[ast.stmt] | None = None) -> ast.If:
    """`if test: body else: orelse`, never empty."""
    return ast.If(test, body or [ast.Pass()], orelse or [])


class Names:
    """Names that nothing else uses: one that is given twice would be a silently wrong derivative."""

    def __init__(self, used: Iterable[str]) -> None:
        self.used = set(used)

    def fresh(self, wanted: str) -> str:
        """The name itself where it is free, else with a number."""
        found, count = wanted, 1
        while found in self.used:
            count += 1
            found = f"{wanted}_{count}"
        self.used.add(found)
        return found
