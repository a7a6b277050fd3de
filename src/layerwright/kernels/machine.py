"""Machine words for code that Numba compiles: memory by address, calls by address. Addresses are int64 everywhere.

With these the runtime reads the call frames of the frameworks and hands buffers on, without a C compiler. The lowering
API of Numba isn't public; it is used in this file and in `loops.py` only.
"""

from __future__ import annotations

from typing import Any

from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic

I8, I32, I64 = ir.IntType(8), ir.IntType(32), ir.IntType(64)
BYTES = I8.as_pointer()


def _loader(width: ir.IntType) -> Any:
    @intrinsic
    def load(typing: Any, address: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = builder.load(builder.inttoptr(args[0], width.as_pointer()))
            return value if width is I64 else builder.sext(value, I64)

        return types.int64(types.int64), emit

    return load


def _storer(width: ir.IntType) -> Any:
    @intrinsic
    def store(typing: Any, address: Any, value: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            value = args[1] if width is I64 else builder.trunc(args[1], width)
            builder.store(value, builder.inttoptr(args[0], width.as_pointer()))
            return context.get_dummy_value()

        return types.void(types.int64, types.int64), emit

    return store


load64, load32, load8 = _loader(I64), _loader(I32), _loader(I8)
store64, store32 = _storer(I64), _storer(I32)


@intrinsic
def word(typing: Any, table: Any, index: Any) -> Any:
    """One word of a table of words."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        return builder.load(builder.gep(builder.inttoptr(args[0], I64.as_pointer()), [args[1]]))

    return types.int64(types.int64, types.int64), emit


@intrinsic
def put(typing: Any, table: Any, index: Any, value: Any) -> Any:
    """Write one word of a table of words."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        builder.store(args[2], builder.gep(builder.inttoptr(args[0], I64.as_pointer()), [args[1]]))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


def room(words: int) -> Any:
    """A function that gives the address of so many words on its caller's stack, not zeroed, always the same."""

    @intrinsic
    def reserve(typing: Any) -> Any:
        def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
            # Not `cgutils.alloca_once`, which also fills it with one constant: seconds of compile time for large ones.
            with builder.goto_entry_block():
                place = builder.alloca(I64, words)
            return builder.ptrtoint(place, I64)

        return types.int64(), emit

    return reserve


@intrinsic(prefer_literal=True)
def text(typing: Any, value: Any) -> Any:
    """The address of a constant C string."""
    if not isinstance(value, types.StringLiteral):
        return None
    data = value.literal_value.encode() + b"\0"

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        constant = cgutils.global_constant(builder, ".layerwright.text", cgutils.make_bytearray(data))
        return builder.ptrtoint(constant, I64)

    return types.int64(value), emit


@intrinsic
def invoke(typing: Any, address: Any, arguments: Any) -> Any:
    """Call the C function at an address with int64 arguments; its result is one int64."""
    if not isinstance(arguments, types.BaseTuple):
        return None
    count = len(arguments)

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        function = builder.inttoptr(args[0], ir.FunctionType(I64, [I64] * count).as_pointer())
        return builder.call(function, cgutils.unpack_tuple(builder, args[1], count))

    return types.int64(types.int64, types.UniTuple(types.int64, count)), emit


@intrinsic
def copy(typing: Any, to: Any, source: Any, count: Any) -> Any:
    """Copy bytes from one address to another; they must not overlap."""

    def emit(context: Any, builder: Any, signature: Any, args: Any) -> Any:
        target, origin = (builder.inttoptr(a, BYTES) for a in args[:2])
        cgutils.raw_memcpy(builder, target, origin, args[2], I64(1))
        return context.get_dummy_value()

    return types.void(*[types.int64] * 3), emit


def external(name: str, result: Any, *arguments: Any) -> Any:
    """A C function that the linker of Numba knows by name: one of this process, or one that `add_symbol` told it."""
    return types.ExternalFunction(name, result(*arguments))
