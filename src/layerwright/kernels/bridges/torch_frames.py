"""Machine code that PyTorch's dispatcher calls: it reads tensors from the stack, makes outputs and runs the kernel.

A kernel of the C shim owns the handles of its inputs: it deletes them on every path, and leaves the outputs' handles in
their place. An error is a C++ exception that `aoti_torch_check` throws; it unwinds through frames of this file only,
which have nothing left to release by then.
"""

from __future__ import annotations

from typing import Any

from numba.core import types

from layerwright.kernels.bridges import torch_shim
from layerwright.kernels.descriptor import (
    DTYPE,
    INPUTS,
    MISTYPED,
    MOST_AXES,
    MOST_DIMS,
    MOST_OPERANDS,
    NAME,
    OPERANDS,
    OUTPUTS,
    RANK,
    WIDTH,
)
from layerwright.kernels.machine import external, load8, load32, put, room, text, word
from layerwright.kernels.runtime import MESSAGE_WORDS, execute, measure, output_shape, say
from layerwright.kernels.shared import machine, shared

torch_shim.name_functions()


def _shim(name: str, arguments: int, result: Any = types.int32) -> Any:
    return external(f"aoti_torch_{name}", result, *[types.int64] * arguments)


# The results are 0 or an error, but for the last two.
call_dispatcher, delete, empty_strided = (
    _shim("call_dispatcher", 3),
    _shim("delete_tensor_object", 1),
    _shim("empty_strided", 7),
)
get_data, get_device, get_dim = _shim("get_data_ptr", 2), _shim("get_device_type", 2), _shim("get_dim", 2)
get_dtype, get_sizes, is_contiguous = _shim("get_dtype", 2), _shim("get_sizes", 2), _shim("is_contiguous", 2)
check, contiguous_format = _shim("check", 5, types.void), _shim("memory_format_contiguous_format", 0)

an_answer, a_stack, a_message = room(1), room(2), room(MESSAGE_WORDS)
a_shape, strides_room, an_axis, a_dim = (
    room(MOST_AXES + MOST_DIMS),
    room(MOST_AXES + MOST_DIMS),
    room(MOST_AXES),
    room(MOST_DIMS),
)
handles_room, data_room, shapes_room, ranks_room = (room(MOST_OPERANDS) for _ in range(4))
CPU = 0  # c10::DeviceType


@machine
def contiguous(handles: int, k: int) -> int:
    """Put a contiguous copy in the place of a tensor that isn't: 0, or 1."""
    answer = an_answer()
    if is_contiguous(word(handles, k), answer) != 0:
        return 1
    if load8(answer) != 0:
        return 0
    stack = a_stack()
    put(stack, 0, word(handles, k))
    put(stack, 1, contiguous_format())
    put(handles, k, 0)  # the call owns it
    if call_dispatcher(text("aten::contiguous"), text(""), stack) != 0:
        return 1
    put(handles, k, word(stack, 0))
    return 0


@machine
def read(table: int, handles: int, k: int, data: int, shapes: int, ranks: int, message: int) -> int:
    """Note where an input's elements are and its shape: 0, or 1 with a message."""
    answer = an_answer()
    if get_device(word(handles, k), answer) != 0 or load32(answer) != CPU:
        return say(message, text("A kernel was called with a tensor that isn't on the CPU."))
    if get_dtype(word(handles, k), answer) != 0 or load32(answer) != word(table, OPERANDS + WIDTH * k + DTYPE):
        return say(message, word(table, OPERANDS + WIDTH * k + MISTYPED))
    if contiguous(handles, k) != 0:
        return say(message, text("PyTorch couldn't make an input of a kernel contiguous."))
    handle = word(handles, k)
    failed = get_data(handle, data + 8 * k) + get_dim(handle, ranks + 8 * k) + get_sizes(handle, shapes + 8 * k)
    return say(message, text("PyTorch couldn't say where an input of a kernel is.")) if failed != 0 else 0


@machine
def make(table: int, handles: int, k: int, lead: int, batch: int, named: int, data: int, message: int) -> int:
    """Make the tensor of an output: 0, or 1 with a message."""
    shape, strides = a_shape(), strides_room()
    output_shape(table, k, lead, batch, named, shape)
    rank, step = lead + word(table, OPERANDS + WIDTH * k + RANK), 1
    for axis in range(rank - 1, -1, -1):
        put(strides, axis, step)
        step *= max(word(shape, axis), 1)
    dtype = word(table, OPERANDS + WIDTH * k + DTYPE)
    if empty_strided(rank, shape, strides, dtype, CPU, 0, handles + 8 * k) != 0:
        put(handles, k, 0)
        return say(message, text("PyTorch couldn't allocate an output of a kernel."))
    return get_data(word(handles, k), data + 8 * k)


@machine
def serve(table: int, handles: int, inputs: int, outputs: int, message: int) -> int:
    """Run the kernel of a table on tensors, and make those that it fills: 0, or 1 with a message."""
    data, shapes, ranks, batch, named = data_room(), shapes_room(), ranks_room(), an_axis(), a_dim()
    for k in range(inputs):
        if read(table, handles, k, data, shapes, ranks, message) != 0:
            return 1
    lead = measure(table, shapes, ranks, batch, named, message)
    if lead < 0:
        return 1
    for k in range(inputs, inputs + outputs):
        if make(table, handles, k, lead, batch, named, data, message) != 0:
            return 1
    return execute(table, data, shapes, ranks, lead, batch, named, message)


@shared(4)
def boxed(stack: int, arguments: int, results: int, table: int) -> int:
    """A kernel as PyTorch's dispatcher calls it; throws where it fails."""
    handles, message = handles_room(), a_message()
    inputs, outputs = word(table, INPUTS), word(table, OUTPUTS)
    if arguments != inputs or results != outputs:
        for k in range(arguments):
            delete(word(stack, k))
        check(0, word(table, NAME), text("layerwright"), 0, text("A kernel was called with too few or many tensors."))
    for k in range(inputs):
        put(handles, k, word(stack, k))
    for k in range(inputs, inputs + outputs):
        put(handles, k, 0)
    failed = serve(table, handles, inputs, outputs, message)
    for k in range(inputs + outputs):
        if word(handles, k) != 0 and (failed != 0 or k < inputs):
            delete(word(handles, k))
    if failed != 0:
        check(0, word(table, NAME), text("layerwright"), 0, message)
    for k in range(outputs):
        put(stack, k, word(handles, inputs + k))
    return 0
