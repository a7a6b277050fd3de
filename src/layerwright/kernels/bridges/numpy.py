"""NumPy in, NumPy out."""

from __future__ import annotations

import ctypes
from collections.abc import Sequence
from functools import cache
from typing import TYPE_CHECKING, Any

import numpy as np

from layerwright.errors import DtypeError, KernelError, ShapeError
from layerwright.kernels import failures
from layerwright.kernels.dtypes import WEAK, Plan

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def call(kernel: Kernel, values: Sequence[Any]) -> list[np.ndarray]:
    """Call a kernel with arrays and numbers."""
    plan, inputs = _planned(kernel, values)
    outputs = compute(kernel, plan.loop, inputs)
    return [y.astype(dtype, copy=False) for y, dtype in zip(outputs, plan.outputs, strict=True)]


def _planned(kernel: Kernel, values: Sequence[Any]) -> tuple[Plan, list[np.ndarray]]:
    """The dtypes of a call, and its inputs as the loop takes them.

    Raises:
        DtypeError: Where an argument is no array of numbers.
    """
    arrays = [value if type(value) in WEAK else np.asarray(value) for value in values]
    for argument, value, array in zip(kernel.arguments, values, arrays, strict=True):
        if isinstance(value, np.ma.MaskedArray) or (type(value) not in WEAK and array.dtype == object):
            raise DtypeError(
                f"`{argument}` of `{kernel.name}` is a `{type(value).__name__}`, which kernels don't take.",
                expected="an array or a dense tensor of numbers",
                got=type(value).__name__,
                fix="make it one first: `to_tensor()`, `tf.sparse.to_dense`, `filled()`.",
            )
    plan = kernel.plan([type(a) if type(a) in WEAK else a.dtype.name for a in arrays])
    # A number is first what the arrays beside it are, and loses its last digits as they have.
    given = [np.asarray(a, kind) if type(a) in WEAK else a for a, kind in zip(arrays, plan.inputs, strict=True)]
    return plan, [np.asarray(x, dtype, order="C") for x, dtype in zip(given, plan.loop, strict=False)]


def fill(kernel: Kernel, values: Sequence[Any], targets: Sequence[Any]) -> None:
    """Call a kernel with arrays and numbers, and write what it gives into arrays that are there.

    Raises:
        KernelError: Where one of these isn't an array that may be written.
        ShapeError, DtypeError: Where one isn't as the call would give it.
    """
    plan, inputs = _planned(kernel, values)
    for target in targets:
        if not isinstance(target, np.ndarray) or not target.flags.writeable:
            raise KernelError(
                f"`{kernel.name}` was called with `out`, which can't be written.",
                expected="an array of NumPy that is writeable",
                got="a read-only array" if isinstance(target, np.ndarray) else type(target).__name__,
                fix="pass an array such as `numpy.empty(shape, dtype)` makes it, or leave out `out`.",
            )
    require_targets(kernel, plan.outputs, [x.shape for x in inputs], targets, [t.dtype.name for t in targets])
    direct = [t if _is_free(kernel, k, inputs, targets, plan.loop) else None for k, t in enumerate(targets)]
    for target, y in zip(targets, compute(kernel, plan.loop, inputs, direct), strict=True):
        if y is not target:
            target[...] = y


def require_targets(
    kernel: Kernel,
    dtypes: Sequence[str],
    shapes: Sequence[Sequence[int]],
    targets: Sequence[Any],
    found: Sequence[str],
) -> None:
    """Check what is to be filled against the outputs' dtypes and the inputs' shapes.

    Raises:
        ShapeError, DtypeError: Where one isn't as the call would give it.
    """
    for name, dtype, shape, target, got in zip(
        kernel.results, dtypes, kernel.shapes(shapes), targets, found, strict=True
    ):
        if tuple(target.shape) != tuple(shape):
            raise ShapeError(
                f"`out` for `{name}` of `{kernel.name}` has another shape than the result.",
                expected=str(tuple(shape)),
                got=str(tuple(target.shape)),
                fix="pass an array of that shape, or leave out `out`.",
            )
        if got != dtype:
            raise DtypeError(
                f"`out` for `{name}` of `{kernel.name}` has another dtype than the result.",
                expected=dtype,
                got=got,
                fix="pass an array of that dtype, or leave out `out`.",
            )


def _is_free(kernel: Kernel, k: int, inputs: Sequence[Any], targets: Sequence[Any], dtypes: Sequence[str]) -> bool:
    """Whether an output may be computed in its place: what it overlaps must be read before it is written."""
    target = targets[k]
    if target.dtype != np.dtype(dtypes[len(inputs) + k]) or not target.flags.c_contiguous or not target.flags.aligned:
        return False
    if any(np.may_share_memory(target, other) for n, other in enumerate(targets) if n != k):
        return False
    return all(
        not np.may_share_memory(target, x)
        or (
            (kernel.elementwise or kernel.aliases[k] == i)
            and (x.ctypes.data, x.shape, x.dtype) == (target.ctypes.data, target.shape, target.dtype)
        )
        for i, x in enumerate(inputs)
    )


def compute(
    kernel: Kernel,
    dtypes: Sequence[str],
    inputs: Sequence[np.ndarray],
    targets: Sequence[np.ndarray | None] | None = None,
) -> list[np.ndarray]:
    """Run a kernel on arrays, as its loop dtypes; outputs are written into `targets`, where there is one.

    Raises:
        ShapeError: Where shapes don't fit the signature.
        Exception: What the kernel raises, with a note that says where.
    """
    run = _entry()
    arrays = [np.asarray(x, dtype, order="C") for x, dtype in zip(inputs, dtypes, strict=False)]
    shapes = kernel.shapes([x.shape for x in arrays])
    outputs: list[Any] = [
        np.empty([size or 0 for size in shape], dtype) if target is None else target
        for shape, dtype, target in zip(shapes, dtypes[len(arrays) :], targets or [None] * len(shapes), strict=True)
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
