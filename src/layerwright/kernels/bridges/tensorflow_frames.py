"""Machine code that TensorFlow calls: it makes an op for the dtypes of a node, and runs the kernel of its table."""

from __future__ import annotations

from layerwright.kernels.bridges.tensorflow_library import (
    INVALID_ARGUMENT,
    UNIMPLEMENTED,
    UNKNOWN,
    attribute_size,
    attribute_types,
    compute_failed,
    creation_failed,
    delete_status,
    delete_tensor,
    forward_or_allocate,
    get_code,
    get_input,
    new_status,
    number_of_inputs,
    number_of_outputs,
    set_status,
    tensor_data,
    tensor_rank,
    tensor_size,
    tensor_type,
)
from layerwright.kernels.descriptor import (
    ALIAS,
    DTYPE,
    ELEMENTWISE,
    INPUTS,
    MISTYPED,
    MOST_AXES,
    MOST_DIMS,
    MOST_OPERANDS,
    OPERANDS,
    OUTPUTS,
    RANK,
    WIDTH,
)
from layerwright.kernels.machine import invoke, load32, put, room, store32, text, word
from layerwright.kernels.runtime import MESSAGE_WORDS, execute, measure, output_shape, say
from layerwright.kernels.shared import machine, shared

# Words of what is known of an op: its newest variant, who makes another, a table without a loop, for shapes, and what
# is said where XLA should compile it.
VARIANT, DEFINE, OUTLINE, REFUSAL, RECORD_WORDS = range(5)
# Words of a variant, which is the op for some dtypes: the one before it, and its table.
BEFORE, TABLE = range(2)
MOST_RANK = MOST_AXES + MOST_DIMS
TOLD = -1  # the status says it already

an_axis, a_dim, a_message, a_shape = room(MOST_AXES), room(MOST_DIMS), room(MESSAGE_WORDS), room(MOST_RANK)
tensors_room, data_room, shapes_room, ranks_room = (room(MOST_OPERANDS) for _ in range(4))
sizes_room, types_room, a_word = room(MOST_OPERANDS * MOST_RANK), room(MOST_OPERANDS), room(1)


@machine
def matches(table: int, dtypes: int, inputs: int, outputs: int) -> bool:
    """Whether a table is for these dtypes, which are int32."""
    if word(table, INPUTS) != inputs or word(table, OUTPUTS) != outputs:
        return False
    others = 0
    for k in range(inputs + outputs):
        others += load32(dtypes + 4 * k) != word(table, OPERANDS + WIDTH * k + DTYPE)
    return others == 0


@machine
def listed(construction: int, name: int, to: int, status: int) -> int:
    """Write the dtypes of an attribute; how many there are, or -1 with a status."""
    size = a_word()
    store32(size, 0)
    attribute_size(construction, name, size, size + 4, status)
    if get_code(status) != 0:
        return -1
    count = load32(size)
    if count < 0 or count > MOST_OPERANDS:
        set_status(status, INVALID_ARGUMENT, text("A kernel has 32 inputs and outputs at most."))
        return -1
    attribute_types(construction, name, to, count, status)
    return count if get_code(status) == 0 else -1


@machine
def find(record: int, dtypes: int, inputs: int, outputs: int, message: int) -> int:
    """The table for dtypes, which is made where there is none yet; 0 with a message where it can't be."""
    variant = word(record, VARIANT)
    while variant != 0:
        if matches(word(variant, TABLE), dtypes, inputs, outputs):
            return word(variant, TABLE)
        variant = word(variant, BEFORE)
    return invoke(word(record, DEFINE), (record, dtypes, inputs, outputs, message))


@machine
def chosen(construction: int, record: int, status: int) -> int:
    """The table for the dtypes of a node; 0 with a status where there is none."""
    dtypes, message = types_room(), a_message()
    inputs = listed(construction, text("Tin"), dtypes, status)
    if inputs < 0:
        return 0
    outputs = listed(construction, text("Tout"), dtypes + 4 * inputs, status)
    if outputs < 0:
        return 0
    if inputs + outputs > MOST_OPERANDS:
        set_status(status, INVALID_ARGUMENT, text("A kernel has 32 inputs and outputs at most."))
        return 0
    table = find(record, dtypes, inputs, outputs, message)
    if table == 0:
        set_status(status, INVALID_ARGUMENT, message)
    return table


@shared(2)
def create(construction: int, record: int) -> int:
    """What TensorFlow calls when it makes the op of a node: the table, which `compute` is given."""
    status = new_status()
    table = chosen(construction, record, status)
    if table == 0:
        creation_failed(construction, status)
    delete_status(status)
    return table


@shared(2)
def refuse(construction: int, record: int) -> int:
    """What TensorFlow calls when XLA should compile the op: an error that says what to do."""
    status = new_status()
    set_status(status, UNIMPLEMENTED, word(record, REFUSAL))
    creation_failed(construction, status)
    delete_status(status)
    return 0


@machine
def take_inputs(table: int, context: int, status: int, data: int, shapes: int, ranks: int) -> int:
    """Note the addresses and shapes of the inputs: 0, the message that is to be said, or -1 (`TOLD`)."""
    inputs, sizes = word(table, INPUTS), sizes_room()
    if number_of_inputs(context) != inputs or number_of_outputs(context) != word(table, OUTPUTS):
        return text("A kernel was called with a wrong number of tensors.")
    for k in range(inputs):
        handle = a_word()
        get_input(context, k, handle, status)
        if get_code(status) != 0:
            return TOLD
        # The context keeps the buffer; who holds another reference to it would keep it from being passed on.
        trouble = take_input(table, k, word(handle, 0), sizes + 8 * MOST_RANK * k, data, ranks)
        delete_tensor(word(handle, 0))
        if trouble != 0:
            return trouble
        put(shapes, k, sizes + 8 * MOST_RANK * k)
    return 0


@machine
def take_input(table: int, k: int, tensor: int, shape: int, data: int, ranks: int) -> int:
    """Note the address and shape of an input: 0, or the message that is to be said."""
    if tensor_type(tensor) != word(table, OPERANDS + WIDTH * k + DTYPE):
        return word(table, OPERANDS + WIDTH * k + MISTYPED)
    rank = tensor_rank(tensor)
    if rank > MOST_RANK:
        return text("A kernel takes 16 leading axes at most.")
    for axis in range(rank):
        put(shape, axis, tensor_size(tensor, axis))
    put(data, k, tensor_data(tensor))
    put(ranks, k, rank)
    return 0


@machine
def make_output(table: int, k: int, context: int, shape: int, rank: int, status: int) -> int:
    """The tensor of an output: the buffer of an input that nobody else needs, where the loop allows it, else a new one.

    A loop over single elements has read each before it writes there.
    """
    inputs, dtype, candidates, count = word(table, INPUTS), word(table, OPERANDS + WIDTH * k + DTYPE), types_room(), 0
    for i in range(inputs):
        allowed = word(table, ELEMENTWISE) != 0 or word(table, OPERANDS + WIDTH * k + ALIAS) == i
        if allowed and word(table, OPERANDS + WIDTH * i + DTYPE) == dtype:
            store32(candidates + 4 * count, i)
            count += 1
    return forward_or_allocate(context, candidates, count, k - inputs, shape, rank, a_word(), status)


@machine
def perform(table: int, context: int, status: int, tensors: int, message: int) -> int:
    """Run the kernel: 0, a code with a message, or -1 (`TOLD`)."""
    data, shapes, ranks, batch, named = data_room(), shapes_room(), ranks_room(), an_axis(), a_dim()
    trouble = take_inputs(table, context, status, data, shapes, ranks)
    if trouble != 0:
        if trouble != TOLD:
            say(message, trouble)
            return INVALID_ARGUMENT
        return TOLD
    lead = measure(table, shapes, ranks, batch, named, message)
    if lead < 0:
        return INVALID_ARGUMENT
    inputs, shape = word(table, INPUTS), a_shape()
    for k in range(inputs, inputs + word(table, OUTPUTS)):
        output_shape(table, k, lead, batch, named, shape)
        rank = lead + word(table, OPERANDS + WIDTH * k + RANK)
        tensor = make_output(table, k, context, shape, rank, status)
        put(tensors, k - inputs, tensor)
        if get_code(status) != 0 or tensor == 0:
            return TOLD
        put(data, k, tensor_data(tensor))
    if execute(table, data, shapes, ranks, lead, batch, named, message) != 0:
        return UNKNOWN
    return 0


@shared(2, result=False)
def compute(table: int, context: int) -> None:
    """What TensorFlow calls to run the op; the outputs are its own buffers."""
    status, tensors, message = new_status(), tensors_room(), a_message()
    outputs = word(table, OUTPUTS)
    for k in range(outputs):
        put(tensors, k, 0)
    code = perform(table, context, status, tensors, message)
    if code != 0:
        if code != TOLD:
            set_status(status, code, message)
        compute_failed(context, status)
    for k in range(outputs):
        if word(tensors, k) != 0:
            delete_tensor(word(tensors, k))
    delete_status(status)
