"""What Numba makes of derived functions: the types of their variables, and machine code."""

from __future__ import annotations

import ast
import functools
import re
import types
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numba
from numba.core import compiler, registry, typed_passes
from numba.core import types as numba_types
from numba.core.errors import NumbaError
from numba.extending import overload

from layerwright.autodiff import rules
from layerwright.autodiff.generated import generated
from layerwright.autodiff.syntax import Names
from layerwright.autodiff.types import Type, Types, follow
from layerwright.autodiff.writer import Writer
from layerwright.errors import DifferentiationError


@overload(rules.stop_gradient)
def _stop_gradient(x):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return lambda x: x


@overload(rules.straight_through)
def _straight_through(value, like):  # type: ignore[no-untyped-def]  # noqa: ARG001
    return lambda value, like: value  # noqa: ARG005


def types_of(statements: Sequence[ast.stmt], arguments: Mapping[str, Type], namespace: Mapping[str, Any]) -> Types:
    """An oracle: the types that Numba infers for a function with these statements and arguments.

    Raises:
        DifferentiationError: Where Numba can't type it.
    """
    origin = next((s.origin for s in statements if getattr(s, "origin", None)), None)
    name = Names({*arguments, *namespace}).fresh("typed")
    writer = Writer(origin)  # type: ignore[arg-type]
    text = writer.function(name, arguments, _computing(statements), "types")
    function = jittable(generated(name, text, dict(namespace), [], []).function)
    given = tuple(_numba(t) for t in arguments.values())
    target = registry.cpu_target
    target.typing_context.refresh()
    target.target_context.refresh()
    try:
        found = typed_passes.type_inference_stage(
            target.typing_context, target.target_context, compiler.run_frontend(function), given, None
        )[0]
    except NumbaError as error:
        first = f"{origin.file}:{origin.tree.lineno}" if origin is not None else None
        where = _where(str(error), writer.places) or first
        raise DifferentiationError(
            f"Numba can't type `{origin.name if origin is not None else name}`.",
            got=str(error).splitlines()[0],
            fix="call the kernel without a gradient first: Numba then says where.",
            where=where,
        ) from error
    known = {v.removeprefix("arg."): t for v, t in found.items()}
    return follow(statements, arguments, namespace) | {v: k for v, t in known.items() if (k := _ours(t)) is not None}


def _where(message: str, places: Mapping[int, str]) -> str | None:
    """The user's line for the one of the derived text that Numba names last."""
    for number in reversed(re.findall(r"<derived [^>]*>[\", ]*(?:line )?\(?(\d+)", message)):
        if int(number) in places:
            return places[int(number)]
    return None


def _computing(statements: Sequence[ast.stmt]) -> list[ast.stmt]:
    """The statements without `assert` and `raise`, which type no variable."""
    found: list[ast.stmt] = []
    for s in statements:
        if isinstance(s, ast.Assert | ast.Raise):
            continue
        if isinstance(s, ast.If):
            s = ast.If(s.test, _computing(s.body) or [ast.Pass()], _computing(s.orelse))
        elif isinstance(s, ast.For):
            s = ast.For(s.target, s.iter, _computing(s.body) or [ast.Pass()], [])
        elif isinstance(s, ast.While):
            s = ast.While(s.test, _computing(s.body) or [ast.Pass()], [])
        found.append(s)
    return found


def _numba(kind: Type) -> Any:
    """Our type as Numba's; arrays in any layout, read-only, as kernels get them."""
    if kind.kind == "b":
        element: Any = numba_types.boolean
    else:
        element = getattr(numba_types, f"{'float' if kind.floating else 'int'}{kind.bits}")
    return numba_types.Array(element, kind.rank, "A") if kind.rank else element


def _ours(found: Any) -> Type | None:
    """Numba's type as ours; None where it is no number and no array of numbers."""
    if isinstance(found, numba_types.Array):
        element = _ours(found.dtype)
        return None if element is None else element.of_rank(found.ndim)
    if isinstance(found, numba_types.Boolean | numba_types.BooleanLiteral):
        return Type("b", 8)
    if isinstance(found, numba_types.IntegerLiteral):
        return Type("i", 64)
    if isinstance(found, numba_types.Integer):
        return Type("i", found.bitwidth)
    return Type("f", found.bitwidth) if isinstance(found, numba_types.Float) else None


def jittable(function: Callable[..., Any], **options: Any) -> Any:
    """The function, with all Python functions that it calls compiled by Numba when it is."""
    plain: Any = function
    around = dict(plain.__globals__)
    for name in _called(plain):
        inner = around.get(name)
        if isinstance(inner, types.FunctionType) and inner not in (rules.stop_gradient, rules.straight_through):
            around[name] = _callee(inner, tuple(sorted(options.items())))
    return types.FunctionType(plain.__code__, around, plain.__name__, plain.__defaults__, plain.__closure__)


@functools.lru_cache(maxsize=512)
def _callee(function: Any, options: tuple[tuple[str, Any], ...]) -> Any:
    """A function that others call, compiled once for all of them."""
    return compiled(function, **dict(options))


def _called(function: Any) -> set[str]:
    return set(function.__code__.co_names)


def compiled(function: Callable[..., Any], **options: Any) -> Any:
    """A derived function as machine code: arithmetic as IEEE 754 has it, without the lock of the interpreter."""
    return numba.njit(**{"error_model": "numpy", "nogil": True, **options})(jittable(function, **options))
