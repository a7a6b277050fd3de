"""From a function to its syntax tree: where it stands, and what its names mean."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import functools
import keyword
import linecache
import textwrap
import types
from collections.abc import Callable, Iterator
from typing import Any

from layerwright.autodiff.syntax import nodes
from layerwright.errors import DifferentiationError

_MISSING = object()


@dataclasses.dataclass(eq=False)
class Source:
    """A function as text.

    Attributes:
        function: The function.
        name: Its name, fit for Python.
        file: The file it stands in.
        tree: Its syntax tree; every node knows its line there and, as `origin`, this object.
        namespace: What the names mean that it takes from around it.
        lines: The lines of the file.
    """

    function: types.FunctionType
    name: str
    file: str
    tree: ast.FunctionDef
    namespace: dict[str, Any]
    lines: list[str]

    def line(self, number: int) -> str:
        """A line of the file, without indentation."""
        return self.lines[number - 1].strip() if 0 < number <= len(self.lines) else ""

    @property
    def arguments(self) -> list[str]:
        """The names of the arguments."""
        return [a.arg for a in (*self.tree.args.posonlyargs, *self.tree.args.args)]


def plain(given: Any) -> Any:
    """The Python function behind a kernel, a dispatcher of Numba, or a function."""
    inner = getattr(given, "py_func", given)
    if not isinstance(inner, types.FunctionType) and isinstance(getattr(inner, "function", None), types.FunctionType):
        inner = inner.function
    return inner


def read(given: Callable[..., Any], source: str | None = None) -> Source:
    """The source of a function: from its file, its notebook cell, its doctest, or as given.

    Raises:
        DifferentiationError: Where there is none, or it isn't that of the function any more.
    """
    function = plain(given)
    if not isinstance(function, types.FunctionType):
        raise DifferentiationError(
            "A derivative is made of a Python function.",
            expected="a function, a kernel, or what numba.njit makes of one",
            got=type(given).__name__,
            fix="write the loop as a `def`.",
        )
    code = function.__code__
    given_text = source if source is not None else getattr(function, "__source__", None)
    if given_text is not None:
        lines = textwrap.dedent(given_text).splitlines(keepends=True)
    else:
        lines = linecache.getlines(code.co_filename, function.__globals__)
    if not lines:
        raise DifferentiationError(
            f"The source of `{function.__name__}` isn't there.",
            got=f"a function of {code.co_filename}",
            fix="define it in a file or a notebook cell, or give its text: `derive(f, source=...)`.",
        )
    known = _read(function.__code__, function.__name__, "".join(lines), given_text is not None)
    return dataclasses.replace(known, function=function, namespace=_namespace(function))


@functools.lru_cache(maxsize=256)
def _read(code: types.CodeType, called: str, text: str, given: bool) -> Source:
    """A function's tree; its nodes know this object as their origin."""
    node = _copied(_find(text, code, called, given))
    name = called if called.isidentifier() and not keyword.iskeyword(called) else "function"
    found = Source(None, name, code.co_filename, _as_function(node, name), {}, text.splitlines())  # type: ignore[arg-type]
    for part in nodes(found.tree):
        if hasattr(part, "lineno"):
            part.origin = found  # type: ignore[attr-defined]
    return found


def _copied(node: Any) -> Any:
    """A tree of its own: the parsed file stays as it is."""
    new = type(node)()
    for field, value in vars(node).items():
        if isinstance(value, list):
            value = [_copied(v) if isinstance(v, ast.AST) and v._fields else v for v in value]
        elif isinstance(value, ast.AST) and value._fields:
            value = _copied(value)
        setattr(new, field, value)
    return new


@functools.lru_cache(maxsize=16)
def _module(text: str) -> ast.Module:
    return ast.parse(text)


def _find(text: str, code: types.CodeType, called: str, given: bool) -> ast.FunctionDef | ast.Lambda:
    """The node of a function in the text of its file."""
    try:
        tree = _module(text)
        same = [n for n in nodes(tree) if isinstance(n, ast.FunctionDef | ast.Lambda) and _could_be(n, code, given)]
        if len(same) > 1:
            same = [n for n in same if isinstance(n, ast.FunctionDef) or _stands_at(n, code)][:1]
        if same and (given or _has(n := same[0], text, code)):
            return same[0] if given else n
    except SyntaxError:
        same = []
    raise DifferentiationError(
        f"The source of `{called}` isn't that of the function.",
        expected="the text that the function was made of",
        got="one that has changed since, or another function" if same else f"no such function in {code.co_filename}",
        fix="load the file again, or give the text: `derive(f, source=...)`.",
        where=f"{code.co_filename}:{code.co_firstlineno}",
    )


def _could_be(node: ast.FunctionDef | ast.Lambda, code: types.CodeType, given: bool) -> bool:
    if isinstance(node, ast.Lambda):
        return code.co_name == "<lambda>" and (given or node.lineno == code.co_firstlineno)
    first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
    return node.name == code.co_name and (given or first == code.co_firstlineno)


def _stands_at(node: ast.Lambda, code: types.CodeType) -> bool:
    """Whether a lambda of several on its line is the one of the code: an instruction computes all of its body."""
    body = node.body
    return (body.lineno, body.end_lineno, body.col_offset, body.end_col_offset) in set(code.co_positions())


def _has(node: ast.FunctionDef | ast.Lambda, text: str, code: types.CodeType) -> bool:
    """Whether the text compiles to what the function runs; pytest rewrites functions that assert."""
    if any(isinstance(n, ast.Assert) for n in nodes(node)):
        return True
    return (code.co_code, code.co_varnames) in _compiled(text)


@functools.lru_cache(maxsize=16)
def _compiled(text: str) -> set[tuple[bytes, tuple[str, ...]]]:
    """What tells the functions of a file from one another."""
    return {(c.co_code, c.co_varnames) for c in _codes(compile(text, "file", "exec", dont_inherit=True))}


def _codes(code: types.CodeType) -> Iterator[types.CodeType]:
    for part in code.co_consts:
        if isinstance(part, types.CodeType):
            yield part
            yield from _codes(part)


def _as_function(node: ast.FunctionDef | ast.Lambda, name: str) -> ast.FunctionDef:
    """A function without decorators; a lambda as one that returns its body."""
    if isinstance(node, ast.Lambda):
        body: list[ast.stmt] = [ast.copy_location(ast.Return(node.body), node.body)]
        made = ast.FunctionDef(name, node.args, body, [])
        return ast.copy_location(made, node)
    node.decorator_list = []
    return node


def _namespace(function: types.FunctionType) -> dict[str, Any]:
    """What the free names of a function mean now."""
    found = {n: function.__globals__[n] for n in function.__code__.co_names if n in function.__globals__}
    for free, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
        try:
            found[free] = cell.cell_contents
        except ValueError:
            continue
    return found


def meaning(node: ast.AST, namespace: dict[str, Any], local: set[str]) -> Any:
    """The object that a name or `module.name` means; None where it is a variable, or means nothing."""
    if isinstance(node, ast.Name):
        if node.id in local:
            return None
        return namespace.get(node.id, getattr(builtins, node.id, None))
    if isinstance(node, ast.Attribute):
        owner = meaning(node.value, namespace, local)
        found = getattr(owner, node.attr, _MISSING) if isinstance(owner, types.ModuleType | type) else _MISSING
        return None if found is _MISSING else found
    return None
