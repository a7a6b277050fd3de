"""The Python function of a kernel: its text, its arguments, its place, and what tells it from every other."""

from __future__ import annotations

import ast
import builtins
import dis
import enum
import hashlib
import inspect
import sys
import textwrap
from collections.abc import Callable, Iterator, Sequence
from types import CodeType
from typing import Any

import numpy as np

from layerwright.errors import SignatureError

_FIXED = ("numpy", "numba", "layerwright")
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
        return textwrap.dedent(inspect.getsource(function.__code__))
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
    counts = {_count(value) for value in values}
    return counts.pop() if len(counts) == 1 else None


def _count(value: ast.expr) -> int | None:
    """How many values an expression has; None where its text doesn't say that."""
    if isinstance(value, ast.Tuple):
        return None if any(isinstance(part, ast.Starred) for part in value.elts) else len(value.elts)
    numbers = isinstance(value, ast.Constant | ast.Compare | ast.UnaryOp | ast.BinOp)
    return 1 if numbers and not any(isinstance(node, ast.Tuple | ast.Subscript) for node in ast.walk(value)) else None


def require_written(function: Callable[..., Any], outputs: Sequence[str], name: str) -> None:
    """Refuse a function that can't have written its outputs.

    Raises:
        SignatureError: Where it returns a value, or never uses an output.
    """
    try:
        tree = ast.parse(text_of(function))
    except SyntaxError:
        return
    found = next((n for n in tree.body if isinstance(n, ast.FunctionDef)), None)
    if found is None:
        return
    file, first = function.__code__.co_filename, function.__code__.co_firstlineno - 1
    for node in _own_nodes(found):
        if isinstance(node, ast.Return) and node.value is not None and not _is_none(node.value):
            raise SignatureError(
                f"`{name}` returns a value, which nobody gets.",
                expected=f"a function that writes {', '.join(f'`{out}`' for out in outputs)}",
                got=f"return {ast.unparse(node.value)}",
                fix=f"write `{outputs[0]}[...] = ...`, and return nothing.",
                where=f"{file}:{first + node.lineno}",
            )
    used = {n.id for n in ast.walk(found) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load)}
    for out in outputs:
        if out not in used:
            raise SignatureError(
                f"`{name}` never writes `{out}`.",
                expected=f"`{out}[...] = ...` for every element: nobody else fills it",
                got="no use of it",
                fix=f"write `{out}[0] = 0.0`, or a loop, where it is zero.",
                where=place_of(function),
            )


def _is_none(value: ast.expr) -> bool:
    return isinstance(value, ast.Constant) and value.value is None


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
            found[name] = hashlib.sha256(
                "\0".join(_value(value, {id(function)}, _attributes(function.__code__))).encode()
            ).hexdigest()
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
    for default in (function.__defaults__ or (), tuple(sorted((function.__kwdefaults__ or {}).items()))):
        yield from _value(default, seen)
    for name, value in _around(function).items():
        yield name
        yield from _value(value, seen, _attributes(function.__code__))


def _text_parts(code: CodeType) -> Iterator[str]:
    yield code.co_code.hex()
    yield repr([c for c in code.co_consts if not inspect.iscode(c)])
    yield repr((code.co_names, code.co_varnames, code.co_freevars, code.co_cellvars))
    for inner in _inner(code):
        yield from _text_parts(inner)


def _attributes(code: CodeType) -> frozenset[str]:
    """The names of attributes that some code may read, and of whatever else it names."""
    return frozenset(code.co_names).union(*map(_attributes, _inner(code)))


def _value(value: Any, seen: set[int], attributes: frozenset[str] = frozenset()) -> Iterator[str]:
    """What tells a value from others.

    Args:
        value: The value.
        seen: The functions that were gone through.
        attributes: What may be read of it, where it is a module.
    """
    if isinstance(value, enum.Enum):
        yield f"{type(value).__qualname__}.{value.name}"
        yield from _value(value.value, seen)
    elif isinstance(value, _CONSTANTS):
        yield f"{type(value).__name__} {value!r}"
    elif isinstance(value, tuple):
        yield f"{type(value).__qualname__} {getattr(value, '_fields', '')} {len(value)}"
        for part in value:
            yield from _value(part, seen)
    elif isinstance(value, np.ndarray | np.generic):
        yield f"{value.dtype.str} {value.shape} {hashlib.sha256(np.ascontiguousarray(value).tobytes()).hexdigest()}"
    elif inspect.ismodule(value):
        yield from _module(value, seen, attributes)
    elif inspect.isfunction(value) or hasattr(value, "py_func"):
        yield repr(sorted(getattr(value, "targetoptions", {}).items()))
        yield from _parts(function_of(value), seen)
    elif isinstance(value, type):
        yield from _class(value, seen)
    elif inspect.isbuiltin(value) or isinstance(value, np.ufunc):
        yield f"{getattr(value, '__module__', '')}.{getattr(value, '__qualname__', value)}"
    else:
        raise _Unknown


def _module(module: Any, seen: set[int], attributes: frozenset[str]) -> Iterator[str]:
    """A module: its name, and, but for those that nobody changes, what may be read of it."""
    yield module.__name__
    root = module.__name__.partition(".")[0]
    if root in _FIXED or root in sys.stdlib_module_names or id(module) in seen:
        return
    seen.add(id(module))
    for name in sorted(attributes):
        if name in vars(module):
            yield name
            yield from _value(vars(module)[name], seen, attributes)


def _class(value: type, seen: set[int]) -> Iterator[str]:
    """A class that code may use: a dtype, an enumeration, or a tuple with names."""
    yield f"{value.__module__}.{value.__qualname__}"
    if issubclass(value, enum.Enum):
        for member in value:
            yield from _value(member, seen)
    elif issubclass(value, tuple):
        yield repr(getattr(value, "_fields", ""))
    elif value.__module__.partition(".")[0] not in ("builtins", *_FIXED):
        raise _Unknown
