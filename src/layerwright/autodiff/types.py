"""The types of variables: the oracle's protocol, and an oracle that follows the assignments itself."""

from __future__ import annotations

import ast
import dataclasses
import math
from collections.abc import Mapping, Sequence
from typing import Any, Protocol

import numpy as np

from layerwright.autodiff import rules, sources
from layerwright.autodiff.stack import grow
from layerwright.autodiff.syntax import base, indices, refuse, targets, walk


@dataclasses.dataclass(frozen=True)
class Type:
    """The type of a number (rank 0) or of an array's elements.

    Attributes:
        kind: `"f"` for floats, `"i"` for integers, `"b"` for truth values.
        bits: The size.
        rank: How many dimensions.
    """

    kind: str
    bits: int = 64
    rank: int = 0

    @property
    def floating(self) -> bool:
        """Whether it can have a derivative."""
        return self.kind == "f"

    def of_rank(self, rank: int) -> Type:
        """The same elements in so many dimensions."""
        return dataclasses.replace(self, rank=rank)


FLOAT, INTEGER, TRUTH = Type("f"), Type("i"), Type("b", 8)
Types = dict[str, Type]


class Oracle(Protocol):
    """Says the types of variables; Numba's is in `layerwright.kernels`."""

    def __call__(
        self, statements: Sequence[ast.stmt], arguments: Mapping[str, Type], namespace: Mapping[str, Any]
    ) -> Types:
        """The type of every variable of a function with these statements."""
        ...


def of_dtype(dtype: Any, rank: int = 0) -> Type | None:
    """The type for a dtype of NumPy; None where it has no place here."""
    dtype = np.dtype(dtype)
    kind = {"f": "f", "i": "i", "u": "i", "b": "b"}.get(dtype.kind)
    return None if kind is None else Type(kind, 8 * dtype.itemsize, rank)


def join(a: Type | None, b: Type | None) -> Type | None:
    """The type of what is one or the other, or of a sum of both."""
    if a is None or b is None:
        return a or b
    rank = max(a.rank, b.rank)
    if a.kind == b.kind:
        return Type(a.kind, max(a.bits, b.bits), rank)
    if "f" in (a.kind, b.kind):
        floating, other = (a, b) if a.kind == "f" else (b, a)
        # As Numba has it: a float32 and an int64 make a float64.
        return Type("f", floating.bits if other.kind == "b" or other.bits < 32 else 64, rank)
    return Type("i", max(a.bits, b.bits, 64), rank)


def follow(statements: Sequence[ast.stmt], arguments: Mapping[str, Type], namespace: Mapping[str, Any]) -> Types:
    """The types that assignments give, as Numba unifies them: an oracle that needs nothing."""
    found: Types = dict(arguments)
    reader = Reader(found, dict(namespace), {base(t) for s in walk(statements) for t in targets(s)} | set(arguments))
    while True:
        before = dict(found)
        for statement in walk(statements):
            _follow(statement, found, reader, arguments)
        if found == before:
            return found


def _follow(statement: ast.stmt, found: Types, reader: Reader, arguments: Mapping[str, Type]) -> None:
    for target in targets(statement):
        if not isinstance(target, ast.Name) or (target.id in arguments and arguments[target.id].rank):
            continue
        if isinstance(statement, ast.For):
            value: Type | None = INTEGER
        elif isinstance(statement, ast.AugAssign):
            value = reader.of(ast.BinOp(target, statement.op, statement.value))
        elif isinstance(statement, ast.Assign) and isinstance(statement.targets[0], ast.Tuple):
            places = statement.targets[0].elts
            values = statement.value.elts if isinstance(statement.value, ast.Tuple) else []
            value = reader.of(values[places.index(target)]) if values else None
        else:
            value = reader.of(statement.value) if isinstance(statement, ast.Assign) else None
        known = join(found.get(target.id), value)
        if known is not None:
            found[target.id] = known


class Reader:
    """The types of expressions.

    Args:
        types: The variables' types.
        namespace: What other names mean.
        local: The names of the variables.
    """

    def __init__(self, types: Types, namespace: dict[str, Any], local: set[str]) -> None:
        self.types, self.namespace, self.local = types, namespace, local

    def of(self, node: ast.expr) -> Type | None:
        """The type of an expression; None where it isn't known (yet), or is no number and no array."""
        method = getattr(self, "_" + type(node).__name__, None)
        found: Type | None = method(node) if method is not None else None
        return found

    def meaning(self, node: ast.AST) -> Any:
        """The object that a name means which isn't a variable."""
        return sources.meaning(node, self.namespace, self.local)

    def _Constant(self, node: ast.Constant) -> Type | None:
        return _of_object(node.value)

    def _Name(self, node: ast.Name) -> Type | None:
        return self.types.get(node.id) if node.id in self.local else _of_object(self.meaning(node))

    def _Attribute(self, node: ast.Attribute) -> Type | None:
        if node.attr in ("size", "ndim"):
            return INTEGER
        if node.attr == "T" and (owner := self.of(node.value)):
            return owner
        return _of_object(self.meaning(node))

    def _Subscript(self, node: ast.Subscript) -> Type | None:
        if isinstance(node.value, ast.Attribute) and node.value.attr == "shape":
            return INTEGER
        owner = self.of(node.value)
        if owner is None:
            return None
        taken = sum(not isinstance(i, ast.Slice) for i in indices(node))
        return owner.of_rank(max(owner.rank - taken, 0))

    def _BinOp(self, node: ast.BinOp) -> Type | None:
        a, b = self.of(node.left), self.of(node.right)
        if isinstance(node.op, ast.MatMult) and a and b:
            both = join(a, b)
            return both.of_rank(max(a.rank + b.rank - 2, 0)) if both else None
        both = join(a, b)
        if both is not None and isinstance(node.op, ast.Div) and not both.floating:
            return Type("f", 64, both.rank)
        if both is not None and both.kind == "b" and not isinstance(node.op, ast.BitAnd | ast.BitOr | ast.BitXor):
            return Type("i", 64, both.rank)
        return both

    def _UnaryOp(self, node: ast.UnaryOp) -> Type | None:
        return TRUTH if isinstance(node.op, ast.Not) else self.of(node.operand)

    def _Compare(self, _: ast.Compare) -> Type | None:
        return TRUTH

    def _BoolOp(self, node: ast.BoolOp) -> Type | None:
        found: Type | None = None
        for value in node.values:
            found = join(found, self.of(value))
        return found

    def _IfExp(self, node: ast.IfExp) -> Type | None:
        return join(self.of(node.body), self.of(node.orelse))

    def _Call(self, node: ast.Call) -> Type | None:
        function = self.meaning(node.func)
        given = [self.of(a) for a in node.args]
        if function in ALLOCATORS:
            return self._allocated(node, function, given)
        if function is grow:
            return given[0]
        if function in (np.array, np.asarray) and isinstance(node.args[0], ast.List | ast.Tuple):
            inner: Type | None = None
            for value in node.args[0].elts:
                inner = join(inner, self.of(value))
            return None if inner is None else inner.of_rank(inner.rank + 1)
        if isinstance(node.func, ast.Attribute) and function is None:
            owner = self.of(node.func.value)
            if owner is None:
                return None
            return owner if node.func.attr == "copy" else owner.of_rank(0)
        if function in _RESULTS:
            return _RESULTS[function]
        if function in rules.SELECTING or function is abs or function in rules.PASSIVE:
            found: Type | None = None
            for one in given:
                found = join(found, one)
            return found
        known = [g for g in given if g is not None]
        rank = max((g.rank for g in known), default=0) if isinstance(function, np.ufunc) else 0
        if all(g.floating for g in known) and known:
            return Type("f", max(g.bits for g in known), rank)
        return FLOAT.of_rank(rank)

    def _allocated(self, node: ast.Call, function: Any, given: list[Type | None]) -> Type | None:
        like = function in _LIKE
        start = 2 if function in (np.full, np.full_like) else 1
        dtype = next((k.value for k in node.keywords if k.arg == "dtype"), None)
        if dtype is None and len(node.args) > start:
            dtype = node.args[start]
        elements = self._element_type(dtype) if dtype is not None else None
        if like and given[0] is not None:
            return (elements or given[0]).of_rank(given[0].rank)
        if function is np.full and elements is None and len(given) > 1:
            elements = given[1]
        shape = node.args[0] if node.args else next(k.value for k in node.keywords if k.arg == "shape")
        rank = len(shape.elts) if isinstance(shape, ast.Tuple) else 1
        if isinstance(shape, ast.Attribute) and shape.attr == "shape" and (owner := self.of(shape.value)):
            rank = owner.rank
        return (elements or FLOAT).of_rank(rank)

    def _element_type(self, node: ast.expr) -> Type | None:
        if isinstance(node, ast.Attribute) and node.attr == "dtype":
            owner = self.of(node.value)
            return None if owner is None else owner.of_rank(0)
        given = self.meaning(node)
        given = given if given is not None else getattr(node, "value", None)
        try:
            return of_dtype(given)
        except TypeError:
            refuse(node, f"The dtype `{ast.unparse(node)}` isn't known.", fix="write one of NumPy's: `np.float64`.")


_LIKE = {np.zeros_like, np.ones_like, np.empty_like, np.full_like}
ALLOCATORS = {np.zeros, np.ones, np.empty, np.full, *_LIKE}
_RESULTS: dict[Any, Type] = {
    **dict.fromkeys((int, round, len, math.floor, math.ceil, math.trunc, np.intp, np.int64, np.argmax), INTEGER),
    **dict.fromkeys((np.argmin, math.gcd, math.isqrt), INTEGER),
    **dict.fromkeys((np.int32, np.uint32), Type("i", 32)),
    **dict.fromkeys((np.int16, np.uint16), Type("i", 16)),
    **dict.fromkeys((np.int8, np.uint8), Type("i", 8)),
    **dict.fromkeys((float, np.float64), FLOAT),
    np.float32: Type("f", 32),
    **dict.fromkeys((bool, np.bool_, math.isnan, math.isinf, math.isfinite, np.isnan, np.isinf, np.isfinite), TRUTH),
}


def _of_object(value: Any) -> Type | None:
    """The type of a constant, or of an array or a tuple of numbers from around the function."""
    if isinstance(value, bool | np.bool_):
        return TRUTH
    if isinstance(value, int):
        return INTEGER
    if isinstance(value, float):
        return FLOAT
    if isinstance(value, np.ndarray | np.generic):
        return of_dtype(value.dtype, value.ndim)
    if isinstance(value, tuple) and value:
        kinds = [_of_object(v) for v in value]
        found: Type | None = None
        for kind in kinds:
            found = join(found, kind)
        return None if found is None or None in kinds else found.of_rank(found.rank + 1)
    return None
