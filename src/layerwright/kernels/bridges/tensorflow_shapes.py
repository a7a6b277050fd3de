"""Machine code that gives TensorFlow the shapes of a graph: `signature.resolve`, with sizes that aren't known.

An unknown size that is that of one input stays the same object to TensorFlow; one that may be either of two is new.
"""

from __future__ import annotations

from layerwright.kernels.bridges.tensorflow_frames import OUTLINE
from layerwright.kernels.bridges.tensorflow_library import (
    INVALID_ARGUMENT,
    OK,
    delete_dimension,
    delete_shape,
    dimension_value,
    get_code,
    new_dimension,
    new_shape,
    set_status,
    shape_dimension,
    shape_inputs,
    shape_joined,
    shape_of_input,
    shape_of_output,
    shape_part,
    shape_rank,
    shape_scalar,
    shape_vector,
    shapes_unknown,
)
from layerwright.kernels.descriptor import (
    CORE,
    DIMS,
    ELEMENTWISE,
    INPUTS,
    MISFIT,
    MOST_AXES,
    MOST_DIMS,
    MOST_OPERANDS,
    OPERANDS,
    OUTPUTS,
    RANK,
    WIDTH,
)
from layerwright.kernels.machine import put, room, text, word
from layerwright.kernels.shared import machine, shared

UNKNOWN_SIZE, UNSET = -1, -2
# Where a size comes from: words of an input and of its axis; no input where it is new.
SIZE, INPUT, AXIS, ORIGIN_WORDS = range(4)
NOBODY = -1

handles_room, ranks_room = room(MOST_OPERANDS), room(MOST_OPERANDS)
batch_room, named_room = room(MOST_AXES * ORIGIN_WORDS), room(MOST_DIMS * ORIGIN_WORDS)


@machine
def note(place: int, size: int, k: int, axis: int) -> int:
    """Write down a size and where it comes from."""
    put(place, SIZE, size)
    put(place, INPUT, k)
    put(place, AXIS, axis)
    return 0


@machine
def join_core(place: int, size: int, k: int, axis: int) -> bool:
    """Note the size of a named dimension; whether it fits what is known."""
    known = word(place, SIZE)
    if known == UNSET or (known == UNKNOWN_SIZE and size != UNKNOWN_SIZE):
        note(place, size, k, axis)
        return True
    return size == UNKNOWN_SIZE or known == size


@machine
def join_batch(place: int, size: int, k: int, axis: int) -> bool:
    """Broadcast the size of a leading axis with what is known; whether they fit."""
    known = word(place, SIZE)
    if size == 1 or size == known != UNKNOWN_SIZE:
        return True
    if known == 1 or (known == UNKNOWN_SIZE and size != UNKNOWN_SIZE):
        note(place, size, k, axis)
        return True
    if known == UNKNOWN_SIZE:
        put(place, INPUT, NOBODY)
        return True
    return size == UNKNOWN_SIZE


@machine
def size_of(context: int, shape: int, axis: int, dimension: int) -> int:
    """The size of an axis, or -1."""
    shape_dimension(context, shape, axis, dimension)
    return dimension_value(dimension)


@machine
def join(
    context: int, table: int, k: int, shape: int, rank: int, lead: int, batch: int, named: int, dimension: int
) -> bool:
    """Take in the shape of an input; whether it fits."""
    operand = OPERANDS + WIDTH * k
    own = rank - word(table, operand + RANK)
    for axis in range(word(table, operand + RANK)):
        size, dim = size_of(context, shape, own + axis, dimension), word(word(table, operand + CORE), axis)
        if dim < 0:
            if size != UNKNOWN_SIZE and size != -dim:
                return False
        elif not join_core(named + 8 * ORIGIN_WORDS * dim, size, k, own + axis):
            return False
    for axis in range(own):
        size = size_of(context, shape, axis, dimension)
        if not join_batch(batch + 8 * ORIGIN_WORDS * (lead - own + axis), size, k, axis):
            return False
    return True


@machine
def append(context: int, shape: int, part: int, handles: int, place: int, status: int) -> int:
    """Add an axis to a shape."""
    size, k = word(place, SIZE), word(place, INPUT)
    if size >= 0 or k == NOBODY:
        vector = shape_vector(context, size)
        shape_joined(context, shape, vector, shape, status)
        delete_shape(vector)
    else:
        shape_part(context, word(handles, k), word(place, AXIS), word(place, AXIS) + 1, part, status)
        shape_joined(context, shape, part, shape, status)
    return 0


@machine
def give(context: int, table: int, handles: int, lead: int, batch: int, named: int, part: int, status: int) -> int:
    """Set the shapes of the outputs. An elementwise kernel has as many as the node says, all alike."""
    inputs, outputs, n = word(table, INPUTS), word(table, OUTPUTS), 0
    fixed = ranks_room()
    shapes_unknown(context, status)
    while n < outputs or word(table, ELEMENTWISE) != 0:
        operand = OPERANDS + WIDTH * (inputs + min(n, outputs - 1))
        shape = shape_scalar(context)
        for axis in range(lead):
            append(context, shape, part, handles, batch + 8 * ORIGIN_WORDS * axis, status)
        for axis in range(word(table, operand + RANK)):
            dim = word(word(table, operand + CORE), axis)
            place = named + 8 * ORIGIN_WORDS * dim
            if dim < 0:
                place = fixed
                note(fixed, -dim, NOBODY, 0)
            append(context, shape, part, handles, place, status)
        if get_code(status) == OK:
            shape_of_output(context, n, shape, status)
        delete_shape(shape)
        if get_code(status) != OK:
            break
        n += 1
    if n >= outputs:
        set_status(status, OK, text(""))
    return n


@machine
def resolve(context: int, table: int, handles: int, part: int, dimension: int, status: int) -> int:
    """The message of what doesn't fit, or 0."""
    inputs, ranks, lead, known = word(table, INPUTS), ranks_room(), 0, True
    if shape_inputs(context) != inputs:
        return text("A kernel was called with a wrong number of tensors.")
    for k in range(inputs):
        shape_of_input(context, k, word(handles, k), status)
        if get_code(status) != OK:
            return 0
        rank, core = shape_rank(context, word(handles, k)), word(table, OPERANDS + WIDTH * k + RANK)
        put(ranks, k, rank)
        if rank == UNKNOWN_SIZE:
            known = False
        elif rank < core:
            return word(table, OPERANDS + WIDTH * k + MISFIT)
        lead = max(lead, rank - core)
    if not known:
        shapes_unknown(context, status)
        return 0
    if lead > MOST_AXES:
        return text("A kernel takes 16 leading axes at most.")
    batch, named = batch_room(), named_room()
    for axis in range(lead):
        note(batch + 8 * ORIGIN_WORDS * axis, 1, NOBODY, 0)
    for dim in range(word(table, DIMS)):
        note(named + 8 * ORIGIN_WORDS * dim, UNSET, NOBODY, 0)
    for k in range(inputs):
        if not join(context, table, k, word(handles, k), word(ranks, k), lead, batch, named, dimension):
            return word(table, OPERANDS + WIDTH * k + MISFIT)
    give(context, table, handles, lead, batch, named, part, status)
    return 0


@shared(3)
def infer(context: int, status: int, record: int) -> int:
    """What TensorFlow calls to know the shapes of the outputs."""
    table, handles, part, dimension = word(record, OUTLINE), handles_room(), new_shape(), new_dimension()
    inputs = word(table, INPUTS)
    for k in range(inputs):
        put(handles, k, new_shape())
    trouble = resolve(context, table, handles, part, dimension, status)
    if trouble != 0:
        set_status(status, INVALID_ARGUMENT, trouble)
    for k in range(inputs):
        delete_shape(word(handles, k))
    delete_shape(part)
    delete_dimension(dimension)
    return 0
