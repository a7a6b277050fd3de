"""Signatures such as `(t),()->(t)`: which axes a kernel works on, and the shapes that follow."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Sequence
from functools import cached_property

from layerwright.errors import ShapeError, SignatureError

Dims = tuple[str | int, ...]
Shape = tuple[int | None, ...]
# What machine code has room for.
MOST_OPERANDS, MOST_DIMS = 32, 32
_OPERAND = re.compile(r"\(([^()]*)\)")
_SIDE = re.compile(r"\s*(\([^()]*\)\s*(,\s*\([^()]*\)\s*)*)?")


@dataclasses.dataclass(frozen=True)
class Signature:
    """The core dimensions of a kernel's inputs and outputs: names, or fixed sizes.

    Attributes:
        inputs, outputs: The core dimensions of each.
        boxed: Indices of inputs of core shape `()` that arrive as arrays of one element and not as scalars.
    """

    inputs: tuple[Dims, ...]
    outputs: tuple[Dims, ...]
    boxed: frozenset[int] = frozenset()

    def __str__(self) -> str:
        def side(operands: Sequence[Dims]) -> str:
            return ",".join(f"({','.join(map(str, dims))})" for dims in operands)

        return f"{side(self.inputs)}->{side(self.outputs)}"

    @cached_property
    def names(self) -> tuple[str, ...]:
        """The named dimensions, in the order in which they come first."""
        return tuple(dict.fromkeys(d for dims in self.inputs for d in dims if isinstance(d, str)))

    @cached_property
    def scalars(self) -> frozenset[int]:
        """Indices of the inputs that the kernel gets as numbers."""
        return frozenset(k for k, dims in enumerate(self.inputs) if not dims) - self.boxed

    def gradient(self) -> Signature:
        """The signature of the gradient: inputs, outputs and the outputs' cotangents in, the inputs' gradients out."""
        first = len(self.inputs)
        boxed = {first + k for k, dims in enumerate(self.outputs * 2) if not dims}
        return Signature(self.inputs + self.outputs * 2, self.inputs, self.boxed | boxed)


def parse(text: str) -> Signature:
    """Read a signature as NumPy writes it.

    Args:
        text: `(m,n),(n)->(m)`; sizes may be fixed, as in `(3)`. Spaces don't matter.

    Raises:
        SignatureError: Where it is anything else.
    """
    left, arrow, right = text.partition("->")
    if not arrow or not _SIDE.fullmatch(left) or not _SIDE.fullmatch(right) or "->" in right:
        raise _unread(text, "write the dimensions of each operand in parentheses, inputs and outputs parted by `->`.")
    inputs, outputs = _operands(text, left), _operands(text, right)
    if not outputs:
        raise _unread(text, "name at least one output after `->`.")
    known = {d for dims in inputs for d in dims}
    for dims in outputs:
        for dim in dims:
            if isinstance(dim, str) and dim not in known:
                raise SignatureError(
                    f"The dimension `{dim}` of an output of `{text}` is no dimension of an input.",
                    expected="a name among the inputs' dimensions, or a number",
                    got=dim,
                    fix="pass an array whose size it is, or write the size as a number.",
                )
    return Signature(inputs, outputs)


def require_room(signature: Signature, name: str) -> None:
    """Refuse a kernel for which machine code has no room.

    Raises:
        SignatureError: Where it has more than 32 operands, or dimensions.
    """
    operands = [*signature.inputs, *signature.outputs]
    for count, what in ((len(operands), "operands"), (len(signature.names), "dimensions"), *_core_ranks(operands)):
        if count > MOST_OPERANDS:
            raise SignatureError(
                f"`{name}` has {count} {what}.",
                expected=f"{MOST_OPERANDS} at most",
                got=str(count),
                fix="stack arrays of one shape into one argument.",
            )


def _core_ranks(operands: Sequence[Dims]) -> list[tuple[int, str]]:
    return [(len(dims), "core dimensions in one operand") for dims in operands]


def _operands(text: str, side: str) -> tuple[Dims, ...]:
    return tuple(
        tuple(_dim(text, word.strip()) for word in found.split(",")) if found.strip() else ()
        for found in _OPERAND.findall(side)
    )


def _dim(text: str, word: str) -> str | int:
    if word.isdecimal() and int(word) > 0:
        return int(word)
    if word.isidentifier():
        return word
    raise _unread(text, f"write a name or a number above 0 for the dimension, not `{word}`.")


def _unread(text: str, fix: str) -> SignatureError:
    return SignatureError(
        f"The signature `{text}` can't be read.", expected="a signature such as (t),()->(t)", got=repr(text), fix=fix
    )


def resolve(signature: Signature, shapes: Sequence[Shape], name: str, arguments: Sequence[str]) -> list[Shape]:
    """The outputs' shapes for the inputs' shapes; sizes that aren't known stay None.

    Raises:
        ShapeError: Where the shapes don't fit the signature, or one another.
    """
    sizes: dict[str, int | None] = {}
    batch: list[int | None] = []
    for k, (dims, shape) in enumerate(zip(signature.inputs, shapes, strict=True)):
        lead = len(shape) - len(dims)
        if lead < 0:
            raise _misfit(signature, shapes, name, f"has {len(shape)} axes and needs {len(dims)}", arguments[k])
        for dim, size in zip(dims, shape[lead:], strict=True):
            known = dim if isinstance(dim, int) else sizes.get(dim)
            if None not in (known, size) and known != size:
                raise _misfit(signature, shapes, name, f"has {size} along `{dim}`, which is {known}", arguments[k])
            if isinstance(dim, str):
                sizes[dim] = size if known is None else known
        joined = _broadcast(batch, shape[:lead])
        if joined is None:
            raise _misfit(signature, shapes, name, "doesn't broadcast with those before it", arguments[k])
        batch = joined
    return [(*batch, *(d if isinstance(d, int) else sizes[d] for d in dims)) for dims in signature.outputs]


def _broadcast(first: Sequence[int | None], second: Sequence[int | None]) -> list[int | None] | None:
    """NumPy's broadcasting of two shapes; None where they don't. An unknown size beside 1 stays unknown."""
    rank = max(len(first), len(second))
    pairs = zip([1] * (rank - len(first)) + [*first], [1] * (rank - len(second)) + [*second], strict=True)
    joined: list[int | None] = []
    for a, b in pairs:
        if a == b or b == 1:
            joined.append(a)
        elif a == 1:
            joined.append(b)
        elif a is None or b is None:
            joined.append(b if a is None else a)
        else:
            return None
    return joined


def broadcast_axes(whole: Sequence[int], own: Sequence[int]) -> tuple[int, ...]:
    """The axes of a whole shape along which an input of its own shape was broadcast."""
    lead = len(whole) - len(own)
    return (*range(lead), *(lead + n for n, size in enumerate(own) if size == 1 != whole[lead + n]))


def _misfit(signature: Signature, shapes: Sequence[Shape], name: str, what: str, argument: str) -> ShapeError:
    return ShapeError(
        f"`{argument}` of `{name}` {what}.",
        expected=f"shapes that fit {signature}, with leading axes that broadcast",
        got=", ".join(map(str, shapes)),
        fix="put the core axes last, and add axes of size 1 where an input has fewer leading ones.",
    )
