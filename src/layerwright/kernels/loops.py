"""The inner loop of a kernel: machine code in the form of NumPy's ufunc loops, with exceptions reported as text.

    int64 loop(char **arguments, int64 *dimensions, int64 *steps, char *message)

`dimensions` holds the number of rows, then the core dimensions in the order of the signature; `steps` the distance in
bytes from one row to the next, for each operand. Core dimensions are C-contiguous. The result is 0, or 1 with
`message` filled. Everything around a row (broadcasting, threads, frameworks) is in `runtime.py`.

Source: `PyUFuncGenericFunction` of the NumPy C API.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.extending import intrinsic
from numba.np import arrayobj

from layerwright.errors import SignatureError
from layerwright.kernels import cache, failures
from layerwright.kernels.machine import BYTES, I64
from layerwright.kernels.signature import Signature

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel, Options


class Loop:
    """The compiled inner loop of a kernel for some dtypes.

    Args:
        kernel: The kernel.
        dtypes: NumPy dtype names of the inputs, then of the outputs.

    Attributes:
        address: Of the machine code; valid as long as this object lives.
    """

    def __init__(self, kernel: Kernel, dtypes: Sequence[str]) -> None:
        self.dtypes = tuple(dtypes)
        failures.remember(kernel)
        path = cache.path_of_kernel(kernel, "loop", dtypes)
        kept = cache.load(path)
        if kept is not None:
            self._kept, self.address = cache.thawed(kept)
            return
        callback = _compiled_loop(kernel, dtypes)
        self._kept, self.address = callback, int(callback.address)
        cache.store(path, cache.frozen(callback, kernel.compiled))


def _compiled_loop(kernel: Kernel, dtypes: Sequence[str]) -> Any:
    scalars = [numba.from_dtype(np.dtype(dtype)) for dtype in dtypes]
    make = _elementwise if kernel.elementwise else _rows
    body = make(kernel.compiled, kernel.signature, scalars, (kernel.name, kernel.place, " ".join(dtypes)))

    def loop(arguments, dimensions, steps, message):  # type: ignore[no-untyped-def]
        return body(arguments, dimensions, steps, message)

    loop.__name__ = loop.__qualname__ = f"loop_of_{kernel.name}"
    return numba.cfunc(types.int64(*[types.int64] * 4))(loop)


def dispatcher(given: Any, options: Options) -> Any:
    """The user's function for Numba; what is a dispatcher already stays as it is."""
    if hasattr(given, "py_func"):
        return given
    model = "python" if options.boundscheck else "numpy"
    return numba.njit(error_model=model, fastmath=options.fastmath, boundscheck=options.boundscheck, nogil=True)(given)


def returned(kernel: Kernel, dtypes: Sequence[str]) -> list[str | None]:
    """What an elementwise kernel returns for numbers of these dtypes: NumPy dtype names.

    Raises:
        SignatureError: Where that isn't a number, or a tuple of numbers.
    """
    path = cache.path_of_kernel(kernel, "kinds", dtypes)
    kept: list[str | None] | None = cache.load(path)
    if kept is not None:
        return kept
    result = _compile(kernel.compiled, [numba.from_dtype(np.dtype(dtype)) for dtype in dtypes]).return_type
    parts = result.types if isinstance(result, types.BaseTuple) else [result]
    names = [_dtype_name(part) for part in parts]
    if None in names or not names:
        raise SignatureError(
            f"`{kernel.name}` doesn't return a number.",
            expected="a number, or a tuple of numbers",
            got=str(result),
            fix='return one for each output; to fill arrays, give a signature such as `@lw.kernel("(t)->(t)")`.',
            where=kernel.place,
        )
    cache.store(path, names)
    return names


def _dtype_name(part: Any) -> str | None:
    part = types.unliteral(part)
    if isinstance(part, types.Boolean):
        return "bool"
    return part.name if isinstance(part, types.Integer | types.Float) else None


def _compile(function: Any, arguments: Sequence[Any]) -> Any:
    """Numba's signature of the function for these types; compiles it."""
    function.compile(tuple(arguments))
    return function.overloads[tuple(arguments)].signature


def _elementwise(function: Any, signature: Signature, scalars: Sequence[Any], told: Sequence[str]) -> Any:
    count = len(signature.inputs)
    inputs, outputs = scalars[:count], scalars[count:]
    called = _compile(function, inputs)

    @intrinsic
    def body(typing: Any, arguments: Any, dimensions: Any, steps: Any, message: Any) -> Any:
        def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            frame = _Frame(context, builder, args, len(scalars), told)
            sizes = [context.get_abi_sizeof(context.get_data_type(s)) for s in scalars]
            dense = ir.Constant(ir.IntType(1), 1)
            for step, size in zip(frame.steps, sizes, strict=True):
                dense = builder.and_(dense, builder.icmp_signed("==", step, I64(size)))

            def loop(strides: Sequence[Any]) -> None:
                with cgutils.for_range(builder, frame.rows) as each:
                    at = frame.at(each.index, strides)
                    values = [_load(context, builder, s, p) for s, p in zip(inputs, at, strict=False)]
                    value = frame.call(function, called, values, each.index)
                    for out, pointer, (kind, part) in zip(
                        outputs, at[count:], _parts(builder, called.return_type, value), strict=True
                    ):
                        _store(context, builder, out, pointer, context.cast(builder, part, kind, out))

            # Two copies: with constant steps the loop becomes vector code.
            with builder.if_else(dense, likely=True) as (then, otherwise):
                with then:
                    loop([I64(size) for size in sizes])
                with otherwise:
                    loop(frame.steps)
            return frame.end()

        return types.int64(*[types.int64] * 4), emit

    return body


def _rows(function: Any, signature: Signature, scalars: Sequence[Any], told: Sequence[str]) -> Any:
    count = len(signature.inputs)
    operands = [*signature.inputs, *signature.outputs]
    kinds = [
        scalar if k in signature.scalars else types.Array(scalar, max(len(dims), 1), "C", readonly=k < count)
        for k, (scalar, dims) in enumerate(zip(scalars, operands, strict=True))
    ]
    called = _compile(function, kinds)

    @intrinsic
    def body(typing: Any, arguments: Any, dimensions: Any, steps: Any, message: Any) -> Any:
        def emit(context: Any, builder: Any, _signature: Any, args: Any) -> Any:
            frame = _Frame(context, builder, args, len(operands), told)
            named = {dim: frame.word(1, 1 + n) for n, dim in enumerate(signature.names)}
            sizes = [[I64(d) if isinstance(d, int) else named[d] for d in dims] or [I64(1)] for dims in operands]
            with cgutils.for_range(builder, frame.rows) as each:
                values = [
                    _array(context, builder, kind, pointer, size)
                    if isinstance(kind, types.Array)
                    else _load(context, builder, kind, pointer)
                    for kind, pointer, size in zip(kinds, frame.at(each.index, frame.steps), sizes, strict=True)
                ]
                frame.call(function, called, values, each.index)
            return frame.end()

        return types.int64(*[types.int64] * 4), emit

    return body


class _Frame:
    """What a loop is called with, as values of the code that is emitted.

    Attributes:
        rows: How many rows there are.
        steps: From one row to the next, in bytes, for each operand.
    """

    def __init__(self, context: Any, builder: Any, args: Any, count: int, told: Sequence[str]) -> None:
        self._context, self._builder, self._args, self._told = context, builder, args, told
        self._words = [builder.inttoptr(a, I64.as_pointer()) for a in args[:3]]
        self._result, self._end = cgutils.alloca_once_value(builder, I64(0)), builder.append_basic_block("end")
        self.rows = self.word(1, 0)
        self.steps = [self.word(2, k) for k in range(count)]
        self._bases = [builder.inttoptr(self.word(0, k), BYTES) for k in range(count)]

    def word(self, which: int, index: int) -> Any:
        """A word that one of the first three arguments points to."""
        return self._builder.load(self._builder.gep(self._words[which], [I64(index)]))

    def at(self, row: Any, steps: Sequence[Any]) -> list[Any]:
        """Where a row of each operand begins."""
        builder = self._builder
        return [builder.gep(b, [builder.mul(row, step)]) for b, step in zip(self._bases, steps, strict=True)]

    def call(self, function: Any, called: Any, values: Sequence[Any], row: Any) -> Any:
        """The result of the function; where it raises, the loop is left with the message."""
        status, value = _call(self._context, self._builder, function, called, values)
        with self._builder.if_then(status.is_error, likely=False):
            _tell(self._context, self._builder, status, self._told, [*self._args, row])
            self._builder.store(I64(1), self._result)
            self._builder.branch(self._end)
        return value

    def end(self) -> Any:
        """The result of the loop."""
        self._builder.branch(self._end)
        self._builder.position_at_end(self._end)
        return self._builder.load(self._result)


def _load(context: Any, builder: Any, scalar: Any, pointer: Any) -> Any:
    typed = builder.bitcast(pointer, context.get_data_type(scalar).as_pointer())
    return context.unpack_value(builder, scalar, typed)


def _store(context: Any, builder: Any, scalar: Any, pointer: Any, value: Any) -> None:
    context.pack_value(builder, scalar, value, builder.bitcast(pointer, context.get_data_type(scalar).as_pointer()))


def _parts(builder: Any, kind: Any, value: Any) -> list[tuple[Any, Any]]:
    if not isinstance(kind, types.BaseTuple):
        return [(kind, value)]
    return [(part, builder.extract_value(value, n)) for n, part in enumerate(kind.types)]


def _array(context: Any, builder: Any, kind: Any, pointer: Any, shape: Sequence[Any]) -> Any:
    array = arrayobj.make_array(kind)(context, builder)
    itemsize = I64(context.get_abi_sizeof(context.get_data_type(kind.dtype)))
    strides: list[Any] = []
    step: Any = itemsize
    for size in reversed(shape):
        strides.insert(0, step)
        step = builder.mul(step, size)
    arrayobj.populate_array(
        array,
        data=builder.bitcast(pointer, array.data.type),
        shape=cgutils.pack_array(builder, shape, ty=I64),
        strides=cgutils.pack_array(builder, strides, ty=I64),
        itemsize=itemsize,
        meminfo=None,
        parent=None,
    )
    return array._getvalue()


def _call(context: Any, builder: Any, function: Any, called: Any, values: Sequence[Any]) -> tuple[Any, Any]:
    """Call the compiled function; its status comes back instead of being raised or swallowed."""
    compiled = function.overloads[tuple(called.args)]
    context.active_code_library.add_linking_library(compiled.library)
    return context.call_internal_no_propagate(builder, compiled.fndesc, called, values)


def _tell(context: Any, builder: Any, status: Any, told: Sequence[str], words: Sequence[Any]) -> None:
    """Give the exception to `failures.tell`; only here is Python entered, and the GIL taken."""
    api = context.get_python_api(builder)
    gil = api.gil_ensure()
    context.call_conv.raise_error(builder, api, status)
    null = cgutils.get_null_value(api.pyobj)
    kind, value, trace = (cgutils.alloca_once_value(builder, null) for _ in range(3))
    api.err_fetch(kind, value, trace)
    pointers = ir.FunctionType(ir.VoidType(), [api.pyobj.as_pointer()] * 3)
    builder.call(
        cgutils.get_or_insert_function(builder.module, pointers, "PyErr_NormalizeException"), [kind, value, trace]
    )
    module = api.import_module(context.insert_const_string(builder.module, "layerwright.kernels.failures"))
    tell = api.object_getattr_string(module, "tell")
    given = [api.string_from_string(context.insert_const_string(builder.module, text)) for text in told]
    given += [api.long_from_longlong(word) for word in words]
    with builder.if_then(cgutils.is_null(builder, builder.load(trace))):
        api.incref(api.borrow_none())
        builder.store(api.borrow_none(), trace)
    answer = api.call_function_objargs(tell, (builder.load(value), builder.load(trace), *given))
    for owned in (answer, *given, tell, module, *map(builder.load, (kind, value, trace))):
        api.decref(owned)
    api.err_clear()
    api.gil_release(gil)
