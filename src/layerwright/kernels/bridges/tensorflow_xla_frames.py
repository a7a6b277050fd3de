"""Machine code that the XLA in TensorFlow calls: it finds the table for the dtypes of the buffers, and runs the kernel.

A graph that was loaded names the kernel only; nobody has prepared anything for its dtypes.
"""

from __future__ import annotations

from layerwright.kernels.bridges.jax_frames import (
    ARGUMENTS,
    BUFFER_DTYPE,
    COUNT,
    INVALID_ARGUMENT,
    POINTERS,
    RESULTS,
    answer,
    fail,
    is_a_call,
    perform,
)
from layerwright.kernels.bridges.tensorflow_frames import find
from layerwright.kernels.descriptor import MOST_OPERANDS
from layerwright.kernels.machine import load32, load64, room, store32, text, word
from layerwright.kernels.runtime import MESSAGE_WORDS
from layerwright.kernels.shared import machine, shared

types_room, a_message = room(MOST_OPERANDS), room(MESSAGE_WORDS)


@machine
def call(frame: int, record: int) -> int:
    """Run a kernel whose dtypes are those of the buffers; 0, or an error of XLA."""
    inputs, outputs = load64(frame + ARGUMENTS + COUNT), load64(frame + RESULTS + COUNT)
    if inputs + outputs > MOST_OPERANDS:
        return fail(frame, INVALID_ARGUMENT, text("A kernel has 32 inputs and outputs at most."))
    dtypes, message = types_room(), a_message()
    for k in range(inputs + outputs):
        side, index = (ARGUMENTS, k) if k < inputs else (RESULTS, k - inputs)
        buffer = word(load64(frame + side + POINTERS), index)
        store32(dtypes + 4 * k, load32(buffer + BUFFER_DTYPE))
    table = find(record, dtypes, inputs, outputs, message)
    return perform(frame, table) if table != 0 else fail(frame, INVALID_ARGUMENT, message)


@shared(2)
def handler(frame: int, record: int) -> int:
    """What XLA calls; 0, or an error of XLA."""
    return call(frame, record) if is_a_call(frame) else answer(frame)
