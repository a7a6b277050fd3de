"""The tables of kernels for machine code: one for each kernel, dtypes and framework."""

from __future__ import annotations

import os
from collections.abc import Callable
from typing import TYPE_CHECKING

from layerwright.kernels import descriptor, runtime

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_made: dict[tuple[int, tuple[str, ...], tuple[int, ...]], tuple[Kernel, int]] = {}


def table(kernel: Kernel, dtypes: tuple[str, ...], code: Callable[[str], int]) -> int:
    """The address of a kernel's table; it is made once and never released.

    Args:
        kernel: The kernel.
        dtypes: Its loop dtypes, inputs first.
        code: A dtype as the framework says it.
    """
    codes = tuple(map(code, dtypes))
    key = (id(kernel), dtypes, codes)
    if key not in _made:
        address = descriptor.describe(
            kernel.loop(dtypes).address,
            kernel.signature,
            dtypes,
            name=kernel.name,
            arguments=[*kernel.arguments, *kernel.results],
            codes=codes,
            elementwise=kernel.elementwise,
            threads=processors() if kernel.options.parallel else 0,
            worker=runtime.worker.address,
            aliases=[descriptor.NOBODY if taken is None else taken for taken in kernel.aliases],
        )
        _made[key] = (kernel, address)
    return _made[key][1]


def processors() -> int:
    """How many processors this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1
