"""Where a kernel failed: the row that failed is computed once more by Python, which knows its lines.

Numba says of an index out of bounds and of a division by zero neither the line nor the values.
"""

from __future__ import annotations

import ctypes
import sys
import warnings
from collections.abc import Callable, Sequence
from types import FrameType
from typing import TYPE_CHECKING, Any

import numpy as np

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

MOST_ELEMENTS = 1 << 16  # of a row; a larger one isn't computed again
MOST_LINES = 200_000  # some tenths of a second


class _Enough(BaseException):
    """The row takes too long."""


def replay(
    kernel: Kernel, dtypes: Sequence[str], arguments: int, dimensions: int, steps: int, row: int, kind: type
) -> BaseException | None:
    """What Python raises for a row of an inner loop, with its traceback; None where it doesn't raise the same.

    Args:
        kernel: The kernel.
        dtypes: Its loop dtypes, inputs first.
        arguments, dimensions, steps: The addresses of what the inner loop was called with.
        row: Which of its rows.
        kind: What the machine code raised.
    """
    if {"print", "random"} & set(kernel.function.__code__.co_names) or _in_place(kernel, arguments):
        return None
    # Elements that are Python numbers raise where NumPy's own warn of a division by zero; but they are float64, and not
    # all of NumPy takes them.
    for numbers in (False, True):
        values = _row(kernel, dtypes, arguments, dimensions, steps, row, numbers=numbers)
        error = _raised(kernel.function, values) if values is not None else None
        if error is not None and type(error) is kind and error.__traceback__ is not None:
            return error.with_traceback(error.__traceback__.tb_next)
    return None


def _in_place(kernel: Kernel, arguments: int) -> bool:
    """Whether an output lies where an input did, which is gone then."""
    count = len(kernel.signature.inputs)
    places = _words(arguments, count + len(kernel.signature.outputs))
    return bool(set(places[:count]) & set(places[count:]))


def _raised(function: Callable[..., Any], values: Sequence[Any]) -> BaseException | None:
    """What a function raises; None where it doesn't, or takes too long."""
    lines, tracer = 0, sys.gettrace()

    def trace(_frame: FrameType, event: str, _given: Any) -> Any:
        nonlocal lines
        lines += event == "line"
        if lines > MOST_LINES:
            raise _Enough
        return trace

    sys.settrace(trace)
    try:
        with np.errstate(all="ignore"), warnings.catch_warnings():
            warnings.simplefilter("ignore")
            function(*values)
    except BaseException as error:  # whatever it is, it is only looked at
        return error
    finally:
        sys.settrace(tracer)
    return None


def _row(
    kernel: Kernel, dtypes: Sequence[str], arguments: int, dimensions: int, steps: int, row: int, *, numbers: bool
) -> list[Any] | None:
    """The arguments of a row: Python numbers, and copies of arrays, whose elements are `numbers` of Python, too."""
    signature = kernel.signature
    sizes = dict(zip(signature.names, _words(dimensions + 8, len(signature.names)), strict=True))
    operands = signature.inputs if kernel.elementwise else [*signature.inputs, *signature.outputs]
    places, distances = _words(arguments, len(operands)), _words(steps, len(operands))
    values: list[Any] = []
    total = 0
    for k, (dims, dtype) in enumerate(zip(operands, dtypes, strict=False)):
        shape = [d if isinstance(d, int) else sizes[d] for d in dims]
        total += int(np.prod(shape))
        if total > MOST_ELEMENTS:
            return None
        size = int(np.prod(shape)) * np.dtype(dtype).itemsize
        array = np.frombuffer(bytearray(ctypes.string_at(places[k] + row * distances[k], size)), dtype)
        if kernel.elementwise or k in signature.scalars:
            values.append(array[0].item() if numbers else array[0])
        else:
            array = array.reshape(shape or [1])
            values.append(array.astype(object) if numbers else array)
    return values


def _words(address: int, count: int) -> list[int]:
    return list((ctypes.c_int64 * count).from_address(address))
