"""The machine code between a framework's buffers and the inner loop of a kernel; the same for all kernels.

It checks shapes against the signature, broadcasts leading axes, merges those that lie together in memory, gathers
broadcast elements into blocks, so that elementwise loops stay vector code, and gives parts of the batch to threads.
Addresses and sizes are int64. Python is entered only where a kernel raises.
"""

from __future__ import annotations

import sys

from numba.core import types

from layerwright.kernels.descriptor import (
    CORE,
    DIMS,
    ELEMENTWISE,
    INPUTS,
    ITEMSIZE,
    LOOP,
    MISFIT,
    MOST_AXES,
    MOST_DIMS,
    MOST_OPERANDS,
    OPERANDS,
    OUTPUTS,
    RANK,
    THREADS,
    WIDTH,
    WORKER,
)
from layerwright.kernels.machine import copy, external, invoke, put, room, text, word
from layerwright.kernels.shared import machine, shared

MESSAGE_WORDS = 128  # 1024 bytes
BLOCK = 512  # rows of an elementwise kernel that are worked on at once where something is broadcast
BLOCKS = 8  # at most so many operands are gathered or copied back
SHORT = 8  # rows below which gathering costs more than it saves
PARALLEL_ELEMENTS = 1 << 15  # below this a thread costs more than it saves
MOST_THREADS = 64
PAGE, HUGE_PAGE, LARGE = 1 << 12, 14, 1 << 22  # bytes, MADV_HUGEPAGE, and from where on NumPy asks for huge pages
# Words of a job: what one thread works on.
TABLE, DATA, SIZES, STEPS, GROUPS, NAMED, RESULT, MESSAGE = range(8)

# Room on the stack, by what it holds. A function takes each kind once.
an_axis, a_dim = room(MOST_AXES), room(MOST_DIMS)
an_operand, other_operands, more_operands = (room(MOST_OPERANDS) for _ in range(3))
a_step, a_dimension, a_job = room(MOST_AXES * MOST_OPERANDS), room(MOST_DIMS + 1), room(8)
blocks, orders, jobs_room = room(BLOCK * BLOCKS), room(4 * MOST_THREADS), room(8 * MOST_THREADS)
messages_room, handles_room = room(MESSAGE_WORDS * MOST_THREADS), room(MOST_THREADS)

gil_held = external("PyGILState_Check", types.int32)
gil_off = external("PyEval_SaveThread", types.int64)
gil_on = external("PyEval_RestoreThread", types.void, types.int64)
strlen = external("strlen", types.int64, types.int64)

if sys.platform == "win32":

    @machine
    def pthread_create(_handle: int, _attributes: int, _function: int, _argument: int) -> int:
        """There are none: this thread does everything."""
        return 1

    @machine
    def pthread_join(_handle: int, _result: int) -> int:
        """There is nothing to wait for."""
        return 0
else:
    pthread_create = external("pthread_create", types.int32, *[types.int64] * 4)
    pthread_join = external("pthread_join", types.int32, *[types.int64] * 2)
if sys.platform == "linux":
    madvise = external("madvise", types.int32, types.int64, types.int64, types.int32)
else:

    @machine
    def madvise(_address: int, _size: int, _advice: int) -> int:
        """Pages are as they are."""
        return 0


@machine
def core_size(table: int, k: int, axis: int, named: int) -> int:
    """The size of an operand along one of its core dimensions; -1 where that isn't known yet."""
    dim = word(word(table, OPERANDS + WIDTH * k + CORE), axis)
    return -dim if dim < 0 else word(named, dim)


@machine
def say(message: int, said: int) -> int:
    """Copy a C string into the message; the result says that there is one."""
    copy(message, said, min(strlen(said) + 1, 8 * MESSAGE_WORDS))
    return 1


@machine
def fits(table: int, k: int, shape: int, rank: int, lead: int, batch: int, named: int) -> bool:
    """Whether an input's shape fits what is known of the batch and of the named dimensions, and note what it adds."""
    own = rank - word(table, OPERANDS + WIDTH * k + RANK)
    if own < 0:
        return False
    for axis in range(word(table, OPERANDS + WIDTH * k + RANK)):
        size, known = word(shape, own + axis), core_size(table, k, axis, named)
        if known == -1:
            put(named, word(word(table, OPERANDS + WIDTH * k + CORE), axis), size)
        elif known != size:
            return False
    for axis in range(own):
        size, known = word(shape, axis), word(batch, lead - own + axis)
        if known == 1:
            put(batch, lead - own + axis, size)
        elif size != 1 and size != known:
            return False
    return True


@machine
def measure(table: int, shapes: int, ranks: int, batch: int, named: int, message: int) -> int:
    """Find the batch and the named dimensions; how many leading axes there are, or -1 with a message."""
    count, lead = word(table, INPUTS), 0
    for k in range(count):
        lead = max(lead, word(ranks, k) - word(table, OPERANDS + WIDTH * k + RANK))
    if lead > MOST_AXES:
        return -say(message, text("A kernel takes 16 leading axes at most."))
    for axis in range(lead):
        put(batch, axis, 1)
    for n in range(word(table, DIMS)):
        put(named, n, -1)
    for k in range(count):
        if not fits(table, k, word(shapes, k), word(ranks, k), lead, batch, named):
            return -say(message, word(table, OPERANDS + WIDTH * k + MISFIT))
    return lead


@machine
def output_shape(table: int, k: int, lead: int, batch: int, named: int, shape: int) -> int:
    """Write the shape of an output; how many elements that is."""
    elements = 1
    for axis in range(lead):
        put(shape, axis, word(batch, axis))
        elements *= word(batch, axis)
    for axis in range(word(table, OPERANDS + WIDTH * k + RANK)):
        size = core_size(table, k, axis, named)
        put(shape, lead + axis, size)
        elements *= size
    return elements


@machine
def is_output_shape(table: int, k: int, lead: int, batch: int, named: int, shape: int, rank: int) -> bool:
    """Whether an output that is already there has the shape that follows."""
    if rank != lead + word(table, OPERANDS + WIDTH * k + RANK):
        return False
    for axis in range(lead):
        if word(shape, axis) != word(batch, axis):
            return False
    for axis in range(word(table, OPERANDS + WIDTH * k + RANK)):
        if word(shape, lead + axis) != core_size(table, k, axis, named):
            return False
    return True


@machine
def measure_all(table: int, shapes: int, ranks: int, batch: int, named: int, message: int) -> int:
    """As `measure`, where the outputs are there already and must have the shapes that follow."""
    lead, inputs = measure(table, shapes, ranks, batch, named, message), word(table, INPUTS)
    if lead >= 0:
        for k in range(inputs, inputs + word(table, OUTPUTS)):
            if not is_output_shape(table, k, lead, batch, named, word(shapes, k), word(ranks, k)):
                return -say(message, word(table, OPERANDS + WIDTH * k + MISFIT))
    return lead


@machine
def execute(table: int, data: int, shapes: int, ranks: int, lead: int, batch: int, named: int, message: int) -> int:
    """Run the kernel over the whole batch: 0, or 1 with a message.

    `shapes` and `ranks` are those of the inputs; outputs have the whole batch. Buffers are C-contiguous.
    """
    sizes, steps = an_axis(), a_step()
    rows, elements = 1, 1
    for axis in range(lead):
        rows *= word(batch, axis)
    if rows == 0:
        return 0
    for n in range(word(table, DIMS)):
        elements *= max(word(named, n), 1)
    advise(table, data, rows, named)
    groups = merge(table, shapes, ranks, lead, batch, named, sizes, steps)
    job = a_job()
    put(job, TABLE, table)
    put(job, DATA, data)
    put(job, SIZES, sizes)
    put(job, STEPS, steps)
    put(job, GROUPS, groups)
    put(job, NAMED, named)
    put(job, MESSAGE, message)
    outer = word(sizes, groups - 1)
    threads = min(word(table, THREADS), outer, MOST_THREADS)
    if threads > 1 and rows * elements >= PARALLEL_ELEMENTS:
        return spread(job, threads)
    return work(job, 0, outer)


@machine
def advise(table: int, data: int, rows: int, named: int) -> None:
    """Ask for huge pages under large outputs, as NumPy does for its arrays.

    A fresh buffer costs a page fault for every 4 KiB, which takes longer than most loops.
    """
    for k in range(word(table, INPUTS), word(table, INPUTS) + word(table, OUTPUTS)):
        size = rows * word(table, OPERANDS + WIDTH * k + ITEMSIZE)
        for axis in range(word(table, OPERANDS + WIDTH * k + RANK)):
            size *= core_size(table, k, axis, named)
        if size >= LARGE:
            first = (word(data, k) + PAGE - 1) // PAGE * PAGE
            madvise(first, (word(data, k) + size - first) // PAGE * PAGE, HUGE_PAGE)


@machine
def merge(table: int, shapes: int, ranks: int, lead: int, batch: int, named: int, sizes: int, steps: int) -> int:
    """Write the leading axes as few loops, the innermost first: their sizes, and each operand's step in bytes."""
    inputs, count = word(table, INPUTS), word(table, INPUTS) + word(table, OUTPUTS)
    whole, fresh = an_operand(), other_operands()
    for k in range(count):
        size = word(table, OPERANDS + WIDTH * k + ITEMSIZE)
        for axis in range(word(table, OPERANDS + WIDTH * k + RANK)):
            size *= core_size(table, k, axis, named)
        put(whole, k, size)
        put(steps, k, size)
    groups = 0
    for axis in range(lead - 1, -1, -1):
        size = word(batch, axis)
        if size == 1:
            continue
        joins = groups > 0
        for k in range(count):
            own = size
            if k < inputs:
                at = axis - lead + word(ranks, k) - word(table, OPERANDS + WIDTH * k + RANK)
                own = word(word(shapes, k), at) if at >= 0 else 1
            step = word(whole, k) if own != 1 else 0
            put(whole, k, word(whole, k) * own)
            put(fresh, k, step)
            if joins:
                last = MOST_OPERANDS * (groups - 1) + k
                joins = step == word(steps, last) * word(sizes, groups - 1)
        if joins:
            put(sizes, groups - 1, word(sizes, groups - 1) * size)
        else:
            put(sizes, groups, size)
            copy(steps + 8 * MOST_OPERANDS * groups, fresh, 8 * count)
            groups += 1
    if groups == 0:
        put(sizes, 0, 1)
        groups = 1
    return groups


@machine
def work(job: int, start: int, stop: int) -> int:
    """Run the part of a job that lies in a range of the outermost loop."""
    table, data, sizes, steps = word(job, TABLE), word(job, DATA), word(job, SIZES), word(job, STEPS)
    groups, named, message = word(job, GROUPS), word(job, NAMED), word(job, MESSAGE)
    count = word(table, INPUTS) + word(table, OUTPUTS)
    here, dimensions = an_operand(), a_dimension()
    copy(dimensions + 8, named, 8 * word(table, DIMS))
    if groups == 1:
        for k in range(count):
            put(here, k, word(data, k) + start * word(steps, k))
        return inner(table, here, dimensions, steps, stop - start, message)
    middle = 1
    for group in range(1, groups - 1):
        middle *= word(sizes, group)
    for outer in range(start * middle, stop * middle):
        for k in range(count):
            place, rest = word(data, k), outer
            for group in range(1, groups):
                size = word(sizes, group) if group < groups - 1 else stop
                place += (rest % size) * word(steps, MOST_OPERANDS * group + k)
                rest //= size
            put(here, k, place)
        if inner(table, here, dimensions, steps, word(sizes, 0), message) != 0:
            return 1
    return 0


@machine
def inner(table: int, here: int, dimensions: int, steps: int, rows: int, message: int) -> int:
    """Run the loop of the kernel over rows that lie in line for each operand."""
    special = 0
    if word(table, ELEMENTWISE) != 0 and rows >= SHORT:
        for k in range(word(table, INPUTS)):
            special += word(steps, k) == 0
        for k in range(word(table, INPUTS), word(table, INPUTS) + word(table, OUTPUTS)):
            special += is_in_place(table, here, k)
    if special == 0 or special > BLOCKS:
        put(dimensions, 0, rows)
        return invoke(word(table, LOOP), (here, dimensions, steps, message))
    return in_blocks(table, here, dimensions, steps, rows, message)


@machine
def in_blocks(table: int, here: int, dimensions: int, steps: int, rows: int, message: int) -> int:
    """Run an elementwise loop block by block, so that it stays vector code.

    Every broadcast element is repeated over a block, and an output that lies where an input does is copied there after
    a block was read.
    """
    inputs, count = word(table, INPUTS), word(table, INPUTS) + word(table, OUTPUTS)
    rooms, places, unit, homes = blocks(), an_operand(), other_operands(), more_operands()
    for k in range(count):
        size = word(table, OPERANDS + WIDTH * k + ITEMSIZE)
        put(unit, k, size)
        put(places, k, word(here, k))
        put(homes, k, 0)
        if k < inputs and word(steps, k) == 0:
            repeat(rooms, word(here, k), size, min(rows, BLOCK))
            put(places, k, rooms)
            rooms += 8 * BLOCK
        elif k >= inputs and is_in_place(table, here, k):
            put(homes, k, word(here, k))
            put(places, k, rooms)
            rooms += 8 * BLOCK
    for start in range(0, rows, BLOCK):
        block = min(BLOCK, rows - start)
        put(dimensions, 0, block)
        if invoke(word(table, LOOP), (places, dimensions, unit, message)) != 0:
            return 1
        for k in range(count):
            if word(homes, k) != 0:
                copy(word(homes, k), word(places, k), block * word(unit, k))
                put(homes, k, word(homes, k) + BLOCK * word(unit, k))
            elif word(steps, k) != 0 or k >= inputs:
                put(places, k, word(places, k) + BLOCK * word(unit, k))
    return 0


@machine
def is_in_place(table: int, here: int, k: int) -> bool:
    """Whether an output is written where an input is read."""
    shared = 0
    for i in range(word(table, INPUTS)):
        shared += word(here, i) == word(here, k)
    return shared != 0


@machine
def repeat(place: int, element: int, size: int, count: int) -> None:
    """Write an element so many times."""
    copy(place, element, size)
    filled = 1
    while filled < count:
        more = min(filled, count - filled)
        copy(place + filled * size, place, more * size)
        filled += more


# Words of what a thread is told.
JOB, START, STOP = range(3)


@machine
def spread(job: int, threads: int) -> int:
    """Give every thread a part of the outermost loop; this thread takes the last.

    Threads are made for the call and joined: there is no pool that a fork could break or a second call could enter.
    """
    told, jobs, messages, handles = orders(), jobs_room(), messages_room(), handles_room()
    outer = word(word(job, SIZES), word(job, GROUPS) - 1)
    worker = word(word(job, TABLE), WORKER)
    # A thread that words an exception needs the GIL, which this one mustn't hold while it waits.
    state = gil_off() if gil_held() != 0 else 0
    started = 0
    for n in range(threads):
        mine, order = jobs + 64 * n, told + 32 * n
        copy(mine, job, 64)
        put(mine, MESSAGE, messages + 8 * MESSAGE_WORDS * n)
        put(order, JOB, mine)
        put(order, START, outer * n // threads)
        put(order, STOP, outer * (n + 1) // threads)
        if n < threads - 1 and started == n and pthread_create(handles + 8 * n, 0, worker, order) == 0:
            started += 1
        else:
            put(mine, RESULT, work(mine, word(order, START), word(order, STOP)))
    for n in range(started):
        pthread_join(word(handles, n), 0)
    if state != 0:
        gil_on(state)
    for n in range(threads):
        mine = jobs + 64 * n
        if word(mine, RESULT) != 0:
            return say(word(job, MESSAGE), word(mine, MESSAGE))
    return 0


@shared(1)
def worker(order: int) -> int:
    """What a thread runs."""
    job = word(order, JOB)
    put(job, RESULT, work(job, word(order, START), word(order, STOP)))
    return 0


@shared(5)
def run(table: int, data: int, shapes: int, ranks: int, message: int) -> int:
    """Run a kernel on buffers whose owner has checked dtypes and made the outputs: 0, or 1 with a message."""
    batch, named = an_axis(), a_dim()
    lead = measure_all(table, shapes, ranks, batch, named, message)
    return 1 if lead < 0 else execute(table, data, shapes, ranks, lead, batch, named, message)
