"""Machine code that XLA calls: it reads the call frame of an XLA FFI handler and runs the kernel of a table.

Source: `xla/ffi/api/c_api.h`, which the installed jaxlib ships (`jax.ffi.include_dir()`); offsets are in bytes.
"""

from __future__ import annotations

from layerwright.kernels.descriptor import (
    DTYPE,
    INPUTS,
    MISTYPED,
    MOST_AXES,
    MOST_DIMS,
    MOST_OPERANDS,
    OPERANDS,
    OUTPUTS,
    WIDTH,
)
from layerwright.kernels.machine import invoke, load32, load64, put, room, store32, store64, text, word
from layerwright.kernels.runtime import MESSAGE_WORDS, execute, measure_all
from layerwright.kernels.shared import machine, shared

# XLA_FFI_DataType
INTEGERS = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
CODES = {dtype: code for code, dtype in enumerate(("bool", *INTEGERS), start=1)} | {"float32": 11, "float64": 12}
# XLA_FFI_CallFrame
FRAME_BYTES, EXTENSION, API, STAGE, ARGUMENTS, RESULTS = 168, 8, 16, 32, 40, 80
COUNT, POINTERS = 16, 32  # of XLA_FFI_Args and XLA_FFI_Rets
BUFFER_DTYPE, BUFFER_DATA, BUFFER_RANK, BUFFER_SIZES = 16, 24, 32, 40  # XLA_FFI_Buffer
EXTENSION_TYPE, METADATA_EXTENSION, METADATA = 8, 1, 24
API_VERSION, ERROR_CREATE = 32, 48  # XLA_FFI_Api
EXECUTE = 3  # XLA_FFI_ExecutionStage
MAJOR = 0  # XLA_FFI_API_MAJOR
SIDE_BYTES, BUFFER_BYTES = 40, 48  # XLA_FFI_Args and XLA_FFI_Rets, XLA_FFI_Buffer
INVALID_ARGUMENT, INTERNAL = 3, 13  # XLA_FFI_Error_Code
# The oldest version of the API that has all this, where the caller doesn't say its own.
OLDEST_VERSION = 1 << 32

an_axis, a_dim, an_error, a_message = room(MOST_AXES), room(MOST_DIMS), room(4), room(MESSAGE_WORDS)
addresses_room, sizes_room, ranks_room = room(MOST_OPERANDS), room(MOST_OPERANDS), room(MOST_OPERANDS)


@machine
def metadata(frame: int, extension: int) -> int:
    """Answer the question which version of the API this is written for: the caller's own."""
    answer, api = load64(extension + METADATA), load64(frame + API)
    store64(answer + 8, 24)
    store64(answer + 16, 0)
    store64(answer + 24, load64(api + API_VERSION) if api != 0 else OLDEST_VERSION)
    store32(answer + 32, 0)
    if load64(answer) >= 48:
        store64(answer + 40, 0)
    return 0


@machine
def fail(frame: int, code: int, message: int) -> int:
    """An error of XLA with this message."""
    error = an_error()
    store64(error, 28)
    store64(error + 8, 0)
    store64(error + 16, message)
    store64(error + 24, 0)
    store32(error + 24, code)
    return invoke(load64(load64(frame + API) + ERROR_CREATE), (error,))


@machine
def is_a_call(frame: int) -> bool:
    """Whether XLA wants the kernel to run, and asks for nothing else."""
    extension = load64(frame + EXTENSION)
    if extension != 0 and load32(extension + EXTENSION_TYPE) == METADATA_EXTENSION:
        return False
    return load64(frame) >= FRAME_BYTES and load32(frame + STAGE) == EXECUTE


@machine
def answer(frame: int) -> int:
    """What is said where XLA asks for something else: 0, or an error of XLA."""
    extension = load64(frame + EXTENSION)
    if extension != 0 and load32(extension + EXTENSION_TYPE) == METADATA_EXTENSION:
        return metadata(frame, extension)
    if load64(frame) < FRAME_BYTES:
        return fail(frame, INTERNAL, text("The call frame of XLA is smaller than it should be."))
    return 0


@machine
def perform(frame: int, table: int) -> int:
    """Run the kernel of the table on the buffers of the frame; 0, or an error of XLA."""
    if load32(load64(frame + API) + API_VERSION) != MAJOR:
        return fail(frame, INTERNAL, text("XLA calls a kernel by another version of its API."))
    if load64(frame + ARGUMENTS) < SIDE_BYTES or load64(frame + RESULTS) < SIDE_BYTES:
        return fail(frame, INTERNAL, text("The call frame of XLA is smaller than it should be."))
    inputs, outputs = word(table, INPUTS), word(table, OUTPUTS)
    if load64(frame + ARGUMENTS + COUNT) != inputs or load64(frame + RESULTS + COUNT) != outputs:
        return fail(frame, INVALID_ARGUMENT, text("A kernel was called with a wrong number of buffers."))
    data, shapes, ranks, message = addresses_room(), sizes_room(), ranks_room(), a_message()
    for k in range(inputs + outputs):
        side, index = (ARGUMENTS, k) if k < inputs else (RESULTS, k - inputs)
        buffer = word(load64(frame + side + POINTERS), index)
        if load64(buffer) < BUFFER_BYTES:
            return fail(frame, INTERNAL, text("A buffer of XLA is smaller than it should be."))
        if load32(buffer + BUFFER_DTYPE) != word(table, OPERANDS + WIDTH * k + DTYPE):
            return fail(frame, INVALID_ARGUMENT, word(table, OPERANDS + WIDTH * k + MISTYPED))
        put(data, k, load64(buffer + BUFFER_DATA))
        put(ranks, k, load64(buffer + BUFFER_RANK))
        put(shapes, k, load64(buffer + BUFFER_SIZES))
    batch, named = an_axis(), a_dim()
    lead = measure_all(table, shapes, ranks, batch, named, message)
    if lead < 0:
        return fail(frame, INVALID_ARGUMENT, message)
    if execute(table, data, shapes, ranks, lead, batch, named, message) != 0:
        return fail(frame, INTERNAL, message)
    return 0


@shared(2)
def handler(frame: int, table: int) -> int:
    """What XLA calls for a kernel and its dtypes; 0, or an error of XLA."""
    return perform(frame, table) if is_a_call(frame) else answer(frame)
