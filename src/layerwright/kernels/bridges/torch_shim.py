"""libtorch's C shim, which torch 2.8 and newer export: native kernels for the dispatcher without a compiler.

Source: `torch/csrc/inductor/aoti_torch/c/shim.h`, which the installed torch ships.
"""

from __future__ import annotations

import ctypes
import os
from functools import cache

import torch

NAMESPACE = "layerwright"
CALLED = (
    "check",
    "call_dispatcher",
    "delete_tensor_object",
    "empty_strided",
    "get_data_ptr",
    "get_device_type",
    "get_dim",
    "get_dtype",
    "get_sizes",
    "is_contiguous",
    "library_impl",
    "library_init_impl",
    "memory_format_contiguous_format",
)


@cache
def library() -> ctypes.CDLL | None:
    """The shared library that has every function of the shim that is called; None where it hasn't."""
    try:
        found = ctypes.CDLL(os.path.join(os.path.dirname(torch.__file__), "lib", "libtorch_cpu.so"))
    except OSError:
        return None
    return found if all(hasattr(found, f"aoti_torch_{name}") for name in CALLED) else None


@cache
def code(dtype: str) -> int:
    """A dtype as the shim says it; -1 where it has no word for it."""
    said = getattr(library(), f"aoti_torch_dtype_{dtype}", None)
    return int(said()) if said is not None else -1


@cache
def name_functions() -> None:
    """Tell the linker of Numba where the functions are; before any code that calls them is loaded."""
    import llvmlite.binding as llvm

    for name in CALLED:
        address = ctypes.cast(getattr(library(), f"aoti_torch_{name}"), ctypes.c_void_p).value
        llvm.add_symbol(f"aoti_torch_{name}", address)


def implement(name: str, address: int) -> bool:
    """Make the C function at an address the CPU kernel of an operation of our namespace; whether that worked."""
    shim, handle = library(), ctypes.c_void_p()
    assert shim is not None
    origin = (NAMESPACE.encode(), b"CPU", b"layerwright", 0)
    if shim.aoti_torch_library_init_impl(*origin, ctypes.byref(handle)) != 0:
        return False
    # The library object is never deleted: that would take the kernel away.
    return int(shim.aoti_torch_library_impl(handle, name.encode(), ctypes.c_void_p(address))) == 0
