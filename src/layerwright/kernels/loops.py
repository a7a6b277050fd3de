"""The inner loop of a kernel: machine code in the form of NumPy's ufunc loops, with exceptions reported as text.

    int64 loop(char **arguments, int64 *dimensions, int64 *steps, char *message)

`dimensions` holds the number of rows, then the core dimensions in the order of the signature; `steps` the distance in
bytes from one row to the next, for each operand. Core dimensions are C-contiguous. The result is 0, or 1 with
`message` filled. Everything around a row (broadcasting, threads, frameworks) is in `runtime.py`.

Source: `PyUFuncGenericFunction` of the NumPy C API.
"""

from __future__ import annotations

import itertools
import re
import uuid
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numba
import numpy as np
from llvmlite import ir
from numba.core import cgutils, types
from numba.core.compiler_lock import global_compiler_lock
from numba.core.errors import NumbaError
from numba.core.registry import cpu_target
from numba.np import arrayobj

from layerwright.errors import KernelError, SignatureError
from layerwright.kernels import cache, failures
from layerwright.kernels.machine import BYTES, I64

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel, Options


_numbers = itertools.count()


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
        library, name = _compiled_loop(kernel, dtypes, kept=path is not None)
        self._kept, self.address = library, int(library.get_pointer_to_function(name))
        if self.address == 0:  # it would be called
            raise KernelError(f"The machine code of `{kernel.name}` can't be found.", where=kernel.place)
        if path is not None:
            cache.store(path, cache.frozen(library, name, kernel.compiled))


def _compiled_loop(kernel: Kernel, dtypes: Sequence[str], *, kept: bool) -> tuple[Any, str]:
    """The library that holds the loop of a kernel, and the name of its function there.

    Its code is made without Numba's front end: there is nothing to infer, and that takes longer than the rest.
    """
    scalars = [numba.from_dtype(np.dtype(dtype)) for dtype in dtypes]
    emit = _elementwise if kernel.elementwise else _rows
    told = (kernel.name, kernel.place, " ".join(dtypes))
    with global_compiler_lock:
        kinds, called = _compiled(kernel, scalars)
        context = cpu_target.target_context
        said = re.sub(r"\W", "_", kernel.name, flags=re.ASCII)  # LLVM finds no other names again
        name = f"layerwright.loop.{said}.{next(_numbers)}.{uuid.uuid4().hex}"
        library = context.codegen().create_library(name)
        module = library.create_ir_module(name)
        function = ir.Function(module, ir.FunctionType(I64, [I64] * 4), name)
        builder = ir.IRBuilder(function.append_basic_block("entry"))
        with context.push_code_library(library):
            emit(_Frame(context, builder, function.args, kernel.compiled, called, told, len(dtypes)), kernel, kinds)
        if kept:
            library.enable_object_caching()
        library.add_ir_module(module)
        library.finalize()
        return library, name


def dispatcher(given: Any, options: Options) -> Any:
    """The user's function for Numba; what Numba made of it before is made anew, with the kernel's options.

    Numba's own threads are left out: two calls at once end the process where the layer is its workqueue.
    """
    theirs = dict(getattr(given, "targetoptions", {}))
    ours = {
        "error_model": "python" if options.boundscheck else theirs.get("error_model", "numpy"),
        "fastmath": options.fastmath or theirs.get("fastmath", False),
        "boundscheck": options.boundscheck or theirs.get("boundscheck", False),
        "nogil": True,
    }
    return numba.njit(**ours)(getattr(given, "py_func", given))


def returned(kernel: Kernel, dtypes: Sequence[str]) -> list[str | None]:
    """What an elementwise kernel returns for numbers of these dtypes: NumPy dtype names.

    Raises:
        SignatureError: Where that isn't a number, or a tuple of numbers.
    """
    path = cache.path_of_kernel(kernel, "kinds", dtypes)
    kept: list[str | None] | None = cache.load(path)
    if kept is not None:
        return kept
    result = _compile(kernel, [numba.from_dtype(np.dtype(dtype)) for dtype in dtypes]).return_type
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


def _compile(kernel: Kernel, arguments: Sequence[Any]) -> Any:
    """Numba's signature of the function for these types; compiles it.

    Raises:
        KernelError: Where Numba can't.
    """
    function = kernel.compiled
    try:
        function.compile(tuple(arguments))
    except NumbaError as error:
        said, line = _reason(str(error)), re.search(r'File "([^"]+)", line (\d+)', str(error))
        file = kernel.function.__code__.co_filename
        where = f"{file}:{line[2]}" if line and file.endswith(line[1].removeprefix("../")) else kernel.place
        raise KernelError(
            f"`{kernel.name}` can't be compiled by Numba for ({', '.join(map(str, arguments))}).",
            got=said,
            fix="use numbers, arrays, `math` and NumPy, functions under `numba.njit`, and no tensors in the body.",
            where=where,
        ) from error
    return function.overloads[tuple(arguments)].signature


def _reason(said: str) -> str:
    """What Numba says, in one line: the last of its messages that isn't about its own pipeline."""
    lines = [re.sub(r"\x1b\[[0-9;]*m", "", line).strip() for line in said.splitlines()]
    told = [line for line in lines if line and not line.startswith(("Failed in", "During", "File ", "-", "<", "def "))]
    return told[0] if told else lines[0]


def _compiled(kernel: Kernel, scalars: Sequence[Any]) -> tuple[list[Any], Any]:
    """The types of the operands as the function takes them, and the function compiled for these."""
    signature, count = kernel.signature, len(kernel.arguments)
    if kernel.elementwise:
        called = _compile(kernel, scalars[:count])
        result = called.return_type
        got = len(result.types) if isinstance(result, types.BaseTuple) else 1
        if got != len(scalars) - count:
            raise SignatureError(
                f"`{kernel.name}` returns another number of values than it should.",
                expected=f"{len(scalars) - count}" + (", a gradient for each input" if kernel.by_hand else ""),
                got=str(got),
                fix="return one for each, in their order; 0.0 where there is nothing.",
                where=kernel.place,
            )
        return list(scalars), called
    operands = [*signature.inputs, *signature.outputs]
    kinds = [
        scalar if k in signature.scalars else types.Array(scalar, max(len(dims), 1), "C", readonly=k < count)
        for k, (scalar, dims) in enumerate(zip(scalars, operands, strict=True))
    ]
    return kinds, _compile(kernel, kinds)


def _elementwise(frame: _Frame, kernel: Kernel, kinds: Sequence[Any]) -> None:
    context, builder, count = frame.context, frame.builder, len(kernel.arguments)
    sizes = [context.get_abi_sizeof(context.get_data_type(kind)) for kind in kinds]
    dense = ir.Constant(ir.IntType(1), 1)
    for step, size in zip(frame.steps, sizes, strict=True):
        dense = builder.and_(dense, builder.icmp_signed("==", step, I64(size)))

    def loop(strides: Sequence[Any]) -> None:
        with cgutils.for_range(builder, frame.rows) as each:
            at = frame.at(each.index, strides)
            value = frame.call([_load(context, builder, s, p) for s, p in zip(kinds[:count], at, strict=False)], each)
            parts = _parts(builder, frame.called.return_type, value)
            for out, pointer, (kind, part) in zip(kinds[count:], at[count:], parts, strict=True):
                _store(context, builder, out, pointer, context.cast(builder, part, kind, out))

    # Two copies: with constant steps the loop becomes vector code.
    with builder.if_else(dense, likely=True) as (then, otherwise):
        with then:
            loop([I64(size) for size in sizes])
        with otherwise:
            loop(frame.steps)
    frame.end()


def _rows(frame: _Frame, kernel: Kernel, kinds: Sequence[Any]) -> None:
    context, builder, signature = frame.context, frame.builder, kernel.signature
    operands = [*signature.inputs, *signature.outputs]
    named = {dim: frame.word(1, 1 + n) for n, dim in enumerate(signature.names)}
    sizes = [[I64(d) if isinstance(d, int) else named[d] for d in dims] or [I64(1)] for dims in operands]
    with cgutils.for_range(builder, frame.rows) as each:
        values = [
            _array(context, builder, kind, pointer, size)
            if isinstance(kind, types.Array)
            else _load(context, builder, kind, pointer)
            for kind, pointer, size in zip(kinds, frame.at(each.index, frame.steps), sizes, strict=True)
        ]
        frame.call(values, each)
    frame.end()


class _Frame:
    """A loop while its code is emitted.

    Args:
        context, builder: Numba's and llvmlite's.
        args: What the loop is called with.
        function: The dispatcher of the user's function.
        called: Its signature, for the types of this loop.
        told: What `failures.tell` is told of the kernel.
        count: How many operands there are.

    Attributes:
        rows: How many rows there are.
        steps: From one row to the next, in bytes, for each operand.
    """

    def __init__(
        self, context: Any, builder: Any, args: Any, function: Any, called: Any, told: Sequence[str], count: int
    ) -> None:
        self.context, self.builder, self.called = context, builder, called
        self._function, self._args, self._told = function, args, told
        self._words = [builder.inttoptr(a, I64.as_pointer()) for a in args[:3]]
        self._result, self._end = cgutils.alloca_once_value(builder, I64(0)), builder.append_basic_block("end")
        self.rows = self.word(1, 0)
        self.steps = [self.word(2, k) for k in range(count)]
        self._bases = [builder.inttoptr(self.word(0, k), BYTES) for k in range(count)]

    def word(self, which: int, index: int) -> Any:
        """A word that one of the first three arguments points to."""
        return self.builder.load(self.builder.gep(self._words[which], [I64(index)]))

    def at(self, row: Any, steps: Sequence[Any]) -> list[Any]:
        """Where a row of each operand begins."""
        builder = self.builder
        return [builder.gep(b, [builder.mul(row, step)]) for b, step in zip(self._bases, steps, strict=True)]

    def call(self, values: Sequence[Any], each: Any) -> Any:
        """The result of the function for a row; where it raises, the loop is left with the message."""
        status, value = _call(self.context, self.builder, self._function, self.called, values)
        with self.builder.if_then(status.is_error, likely=False):
            _tell(self.context, self.builder, status, self._told, [*self._args, each.index])
            self.builder.store(I64(1), self._result)
            self.builder.branch(self._end)
        return value

    def end(self) -> None:
        """Return the result of the loop."""
        self.builder.branch(self._end)
        self.builder.position_at_end(self._end)
        self.builder.ret(self.builder.load(self._result))


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
