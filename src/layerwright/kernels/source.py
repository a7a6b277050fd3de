"""The Python function of a kernel: its text, its arguments, its place, and what tells it from every other."""

from __future__ import annotations

import ast
import builtins
import dis
import hashlib
import inspect
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from layerwright.errors import SignatureError

_CONSTANTS = (int, float, complex, str, bytes, bool, type(None))


def function_of(given: Any) -> Callable[..., Any]:
    """The Python function behind a function or a Numba dispatcher."""
    function = getattr(given, "py_func", given)
    if not inspect.isfunction(function):
        raise SignatureError(
            "A kernel is made of a function.",
            expected="a Python function, or what numba.njit makes of one",
            got=type(given).__name__,
            fix="write `@lw.kernel` above a `def`.",
        )
    return function


def text_of(function: Callable[..., Any]) -> str:
    """The source of a function, without indentation; its name and place where there is none."""
    try:
        return textwrap.dedent(inspect.getsource(function))
    except (OSError, TypeError):
        return f"# The source of {function.__qualname__} isn't there: it was defined in an interactive session.\n"


def place_of(function: Callable[..., Any]) -> str:
    """`file:line`."""
    return f"{function.__code__.co_filename}:{function.__code__.co_firstlineno}"


def arguments_of(function: Callable[..., Any]) -> list[str]:
    """The names of the positional arguments.

    Raises:
        SignatureError: Where there are others, which machine code can't be given.
    """
    names = []
    for parameter in inspect.signature(function).parameters.values():
        if parameter.kind not in (parameter.POSITIONAL_ONLY, parameter.POSITIONAL_OR_KEYWORD):
            raise SignatureError(
                f"`{function.__name__}` has the argument `{parameter}`, which a kernel can't have.",
                expected="positional arguments",
                got=str(parameter),
                fix="name every argument, and write constants into the body.",
                where=place_of(function),
            )
        names.append(parameter.name)
    return names


def require_arguments(function: Callable[..., Any], count: int, what: str) -> list[str]:
    """The names of the arguments, where they are so many.

    Raises:
        SignatureError: Where they aren't.
    """
    names = arguments_of(function)
    if len(names) != count:
        raise SignatureError(
            f"`{function.__name__}` has {len(names)} arguments, and needs {count}.",
            expected=what,
            got=f"({', '.join(names)})",
            fix="give the function an argument for each of these.",
            where=place_of(function),
        )
    return names


def returned_count(function: Callable[..., Any]) -> int | None:
    """How many values a function returns, as its text says: None where that doesn't say it."""
    try:
        tree = ast.parse(text_of(function))
    except SyntaxError:
        return None
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        return None
    values = [n.value for n in _own_nodes(found) if isinstance(n, ast.Return) and n.value is not None]
    if not values or any(isinstance(value, ast.Name | ast.Call | ast.IfExp) for value in values):
        return None
    counts = {len(value.elts) if isinstance(value, ast.Tuple) else 1 for value in values}
    return counts.pop() if len(counts) == 1 else None


def _own_nodes(function: ast.FunctionDef) -> Iterator[ast.AST]:
    """The nodes of a function, without those of functions inside of it."""
    queue: list[ast.AST] = list(function.body)
    while queue:
        node = queue.pop()
        yield node
        if not isinstance(node, ast.FunctionDef | ast.Lambda):
            queue.extend(ast.iter_child_nodes(node))


def fingerprint(function: Callable[..., Any], *more: Any) -> str | None:
    """Sixteen digits that are equal only for functions that compute the same; None where that can't be said.

    They cover the source, and whatever it takes from around it: constants, arrays, other functions.
    """
    try:
        parts = [*_parts(function, set()), *map(repr, more)]
    except _Unknown:
        return None
    return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


def is_settled(function: Callable[..., Any]) -> bool:
    """Whether everything is there that a function takes from around it; what is defined further down isn't yet."""
    names, around = _globals(function.__code__), function.__globals__
    return all(name in around or hasattr(builtins, name) for name in names) and all(map(_is_full, _cells(function)))


def _globals(code: CodeType) -> set[str]:
    """The names that some code reads from its module; not those of attributes, as `inspect.getclosurevars` gives."""
    names = {i.argval for i in dis.get_instructions(code) if i.opname == "LOAD_GLOBAL"}
    return names.union(*map(_globals, _inner(code)))


def _inner(code: CodeType) -> list[CodeType]:
    return [c for c in code.co_consts if inspect.iscode(c)]


def _cells(function: Callable[..., Any]) -> Sequence[Any]:
    return function.__closure__ or ()


def _is_full(cell: Any) -> bool:
    try:
        cell.cell_contents  # noqa: B018
    except ValueError:
        return False
    return True


class _Unknown(Exception):
    """Something around a function can't be told from others by its value."""


def surroundings(function: Callable[..., Any]) -> dict[str, str | None]:
    """What a function takes from around it, as digits that tell values from others; None where they can't be told."""
    found: dict[str, str | None] = {}
    for name, value in _around(function).items():
        try:
            found[name] = hashlib.sha256("\0".join(_value(value, {id(function)})).encode()).hexdigest()
        except _Unknown:
            found[name] = None
    return found


def _around(function: Callable[..., Any]) -> dict[str, Any]:
    names, around = _globals(function.__code__), function.__globals__
    cells = zip(function.__code__.co_freevars, _cells(function), strict=True)
    filled = {name: cell.cell_contents for name, cell in cells if _is_full(cell)}
    return dict(sorted({**{name: around[name] for name in names if name in around}, **filled}.items()))


def _parts(function: Callable[..., Any], seen: set[int]) -> Iterator[str]:
    if id(function) in seen:
        return
    seen.add(id(function))
    yield from _text_parts(function.__code__)
    for name, value in _around(function).items():
        yield name
        yield from _value(value, seen)


def _text_parts(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr([c for c in code.co_consts if not inspect.iscode(c)])
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for inner in _inner(code):
        yield from _text_parts(inner)


def _value(value: Any, seen: set[int]) -> Iterator[str]:
    if isinstance(value, _CONSTANTS):
        yield repr(value)
    elif isinstance(value, tuple):
        for part in value:
            yield from _value(part, seen)
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    elif inspect.ismodule(value):
        yield value.__name__
    elif inspect.isfunction(value) or hasattr(value, "py_func"):
        yield from _parts(function_of(value), seen)
    elif isinstance(value, type) or inspect.isbuiltin(value) or isinstance(value, np.ufunc):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    else:
        raise _Unknown
