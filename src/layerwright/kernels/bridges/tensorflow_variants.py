"""What machine code finds of a kernel by the dtypes of a call: tables, which are made when they are first needed."""

from __future__ import annotations

import ctypes
import threading
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from layerwright.errors import KernelError
from layerwright.kernels import failures, native
from layerwright.kernels.bridges import tensorflow_frames as frames
from layerwright.kernels.tables import table

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_lock = threading.RLock()
_by_address: dict[int, Variants] = {}


class Variants:
    """The tables of a kernel, in a list that machine code walks; it lives as long as the process.

    Args:
        kernel: The kernel.
        codes: Dtypes as the caller says them.
        outline: The address of a table without a loop, for shapes; 0 where nobody needs it.
        refusal: The address of what is said where XLA should compile the kernel; 0 where nobody needs it.

    Attributes:
        address: Of the record.
    """

    def __init__(self, kernel: Kernel, codes: Mapping[str, int], outline: int = 0, refusal: int = 0) -> None:
        self._kernel, self._codes, self._unique = kernel, codes, native.unique_name(kernel)
        self._known: dict[tuple[str, ...], int] = {}
        self._kept: list[np.ndarray] = []
        self._record = np.zeros(frames.RECORD_WORDS, np.int64)
        self._record[frames.DEFINE] = ctypes.cast(_define, ctypes.c_void_p).value or 0
        self._record[frames.OUTLINE], self._record[frames.REFUSAL] = outline, refusal
        self.address = int(self._record.ctypes.data)
        _by_address[self.address] = self

    def rebind(self, kernel: Kernel) -> None:
        """Compute with this kernel from now on, where the one before has become another since nothing was compiled."""
        if native.unique_name(self._kernel) != self._unique:
            self._kernel = kernel

    def prepare(self, dtypes: tuple[str, ...]) -> int:
        """Compile the kernel for loop dtypes; the address of the table, which machine code finds from now on."""
        if dtypes not in self._known:
            if native.unique_name(self._kernel) != self._unique:
                raise KernelError(
                    f"`{self._kernel.name}` isn't what it was when this graph was made.",
                    expected="the same values around it",
                    got="others",
                    fix="define it as it was.",
                    where=self._kernel.place,
                )
            address = table(self._kernel, dtypes, self._codes.__getitem__)
            with _lock:
                node = np.array([self._record[frames.VARIANT], address], np.int64)
                self._kept.append(node)
                # One aligned word: a reader sees the old list or the new one.
                self._record[frames.VARIANT] = node.ctypes.data
                self._known[dtypes] = address
        return self._known[dtypes]

    def define(self, codes: list[int], inputs: int, outputs: int) -> tuple[int, str]:
        """The table for dtypes as the caller says them; 0 with a message where there can't be one."""
        kernel = self._kernel
        expected = (len(kernel.arguments), len(kernel.signature.outputs))
        if expected != (inputs, outputs):
            return 0, f"`{kernel.name}` has {expected[0]} inputs and {expected[1]} outputs, not {inputs} and {outputs}."
        names = {code: dtype for dtype, code in self._codes.items()}
        if not set(codes) <= names.keys():
            return 0, f"`{kernel.name}` was called with a dtype that kernels don't compute in."
        return self.prepare(tuple(names[code] for code in codes)), ""


@ctypes.CFUNCTYPE(ctypes.c_int64, *[ctypes.c_int64] * 5)
def _define(record: int, dtypes: int, inputs: int, outputs: int, message: int) -> int:
    """Called by machine code for dtypes that it hasn't met: the table, or 0 with a message."""
    try:
        codes = (ctypes.c_int32 * (inputs + outputs)).from_address(dtypes)
        address, said = _by_address[record].define(list(codes), inputs, outputs)
    except Exception as error:  # an exception can't cross machine code
        address, said = 0, f"{type(error).__name__}: {error}"
    if address == 0:
        failures.write(message, said)
    return address
