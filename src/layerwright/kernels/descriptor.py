"""What machine code knows of a kernel: a table of words that lives as long as the process."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence

import numpy as np

from layerwright.kernels.signature import MOST_DIMS as MOST_DIMS
from layerwright.kernels.signature import MOST_OPERANDS as MOST_OPERANDS
from layerwright.kernels.signature import Signature, require_room

# Words of the table.
LOOP, INPUTS, OUTPUTS, DIMS, ELEMENTWISE, THREADS, WORKER, NAME, OPERANDS = range(9)
# Words of each operand, inputs first: the size of an element, how many core dimensions there are, the address of
# these (an index into the named ones, or minus a fixed size), two messages, the dtype as the framework says it, and the
# input whose memory an output may take (`NOBODY` where there is none).
ITEMSIZE, RANK, CORE, MISFIT, MISTYPED, DTYPE, ALIAS, WIDTH = range(8)
NOBODY = -1
MOST_AXES = 16

_kept: list[object] = []


def describe(
    loop: int,
    signature: Signature,
    dtypes: Sequence[str],
    *,
    name: str,
    arguments: Sequence[str],
    codes: Sequence[int],
    elementwise: bool,
    threads: int,
    worker: int,
    aliases: Sequence[int],
) -> int:
    """The address of a new table; it is never released, because code that knows it isn't either.

    Args:
        loop: The address of the inner loop.
        signature: The kernel's.
        dtypes: NumPy names, inputs first.
        name: What errors call the kernel.
        arguments: The names of the inputs, then of the outputs.
        codes: The dtypes as the calling framework says them.
        elementwise: Whether rows are single elements, which are worth gathering into blocks.
        threads: How many may work on one call.
        worker: The address of what a thread runs.
        aliases: For each output the input whose memory it may take, or `NOBODY`.

    Raises:
        SignatureError: Where there is no room for so many operands.
    """
    require_room(signature, name)
    operands = [*signature.inputs, *signature.outputs]
    words = np.zeros(OPERANDS + WIDTH * len(operands), np.int64)
    words[:OPERANDS] = (
        *(loop, len(signature.inputs), len(signature.outputs), len(signature.names), elementwise, threads, worker),
        _text(name),
    )
    indices = {dim: n for n, dim in enumerate(signature.names)}
    taken = [NOBODY] * len(signature.inputs) + [*aliases]
    for k, (dims, dtype, argument, code) in enumerate(zip(operands, dtypes, arguments, codes, strict=True)):
        core = np.array([-d if isinstance(d, int) else indices[d] for d in dims], np.int64)
        _kept.append(core)
        words[OPERANDS + WIDTH * k : OPERANDS + WIDTH * (k + 1)] = (
            *(np.dtype(dtype).itemsize, len(dims), core.ctypes.data),
            _text(f"`{argument}` of `{name}` has a shape that doesn't fit {signature}."),
            _text(f"`{argument}` of `{name}` isn't {dtype}, for which this operation was made."),
            code,
            taken[k],
        )
    _kept.append(words)
    return int(words.ctypes.data)


def _text(said: str) -> int:
    kept = ctypes.create_string_buffer(said.encode())
    _kept.append(kept)
    return ctypes.addressof(kept)
