"""NumPy in, NumPy out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from layerwright.errors import KernelError
from layerwright.kernels import failures
from layerwright.kernels.dtypes import WEAK

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def call(kernel: Kernel, values: Sequence[Any]) -> list[np.ndarray]:
    """Call a kernel with arrays and numbers."""
    arrays = [value if type(value) in WEAK else np.asarray(value) for value in values]
    plan = kernel.plan([type(a) if type(a) in WEAK else a.dtype.name for a in arrays])
    outputs = compute(kernel, plan.loop, arrays)
    return [y.astype(dtype, copy=False) for y, dtype in zip(outputs, plan.outputs, strict=True)]


def compute(kernel: Kernel, dtypes: Sequence[str], inputs: Sequence[np.ndarray]) -> list[np.ndarray]:
    """Run a kernel on arrays, as its loop dtypes.

    Raises:
        ShapeError: Where shapes don't fit the signature.
        Exception: What the kernel raises, with a note that says where.
    """
    run = _entry()
    arrays = [np.asarray(x, dtype, order="C") for x, dtype in zip(inputs, dtypes, strict=False)]
    shapes = kernel.shapes([x.shape for x in arrays])
    outputs: list[Any] = [
        np.empty([size or 0 for size in shape], dtype)
        for shape, dtype in zip(shapes, dtypes[len(arrays) :], strict=True)
    ]
    operands = [*arrays, *outputs]
    sizes = [np.array(x.shape, np.int64) for x in operands]
    data, where, ranks = (
        np.array(words, np.int64)
        for words in (
            [x.ctypes.data for x in operands],
            [x.ctypes.data for x in sizes],
            [x.ndim for x in operands],
        )
    )
    message = ctypes.create_string_buffer(failures.MESSAGE_BYTES)
    addresses = (data.ctypes.data, where.ctypes.data, ranks.ctypes.data, ctypes.addressof(message))
    if run(_table(kernel, tuple(dtypes)), *addresses):
        raise raised(message.value.decode())
    return outputs


def raised(message: str) -> BaseException:
    """What a kernel raised, with its place as a note; else an error of layerwright's."""
    error = failures.take(message)
    if error is None:
        return KernelError(message)
    error.add_note(message)
    return error


@cache
def _entry() -> Any:
    from layerwright.kernels import runtime

    return ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)(runtime.run.address)


def _table(kernel: Kernel, dtypes: tuple[str, ...]) -> int:
    from layerwright.kernels.tables import table

    return table(kernel, dtypes, lambda _: 0)
