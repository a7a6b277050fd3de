"""The source of a live class or function, standing alone, and what its names mean."""

from __future__ import annotations

import ast
import dis
import sys
import textwrap
from collections.abc import Iterator, Mapping
from types import CodeType, FunctionType
from typing import Any

from layerwright.checks.source import function_of

_NAME_OPS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"})


class CannotShip(Exception):
    """A class can't be found by its name elsewhere, and its source can't be sent; the text is the reason."""


def source_of(value: Any) -> str:
    """The statement that defines a class or a function, wherever `linecache` finds it.

    Raises:
        CannotShip: Where there is none.
    """
    members = [value] if isinstance(value, FunctionType) else list(vars(value).values())
    for function in filter(None, map(function_of, members)):
        node: ast.AST | None = function.node
        while node is not None and getattr(node, "name", None) != value.__name__:
            node = function.file.parents.get(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return textwrap.dedent("".join(function.file.lines[first - 1 : node.end_lineno]))
    where = "an interactive session" if value.__module__ == "__main__" else "a function"
    raise CannotShip(f"`{value.__name__}` is defined in {where}, and its source isn't there")


def scope_of(value: Any) -> Mapping[str, Any]:
    """What the free names of a class or function mean: the module's globals, and what its functions closed over."""
    known: dict[str, Any] = dict(vars(sys.modules[value.__module__])) if value.__module__ in sys.modules else {}
    if isinstance(value, type):
        known |= {base.__name__: base for base in value.__bases__}
    for function in functions(value):
        known |= function.__globals__
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                try:
                    known[name] = cell.cell_contents
                except ValueError:  # not bound yet
                    continue
    return known


def functions(value: Any) -> Iterator[FunctionType]:
    """The functions of a class's own body, or the function itself, as far as their source is there."""
    members = [value] if isinstance(value, FunctionType) else list(vars(value).values())
    for found in map(function_of, members):
        live: Any = None if found is None else found.live
        if live is not None:
            yield live


def free_names(text: str) -> set[str]:
    """The global names that a definition refers to, if it stands alone."""
    whole = f"from __future__ import annotations\n{text}"
    return set(_globals_of(compile(whole, "<shipped>", "exec", dont_inherit=True)))


def _globals_of(code: CodeType) -> Iterator[str]:
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_NAME", "STORE_GLOBAL")}
    names = {i.argval for i in dis.get_instructions(code) if i.opname in _NAME_OPS}
    yield from names - own - {"__name__", "__class__", "__module__", "__qualname__"}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_of(inner)
