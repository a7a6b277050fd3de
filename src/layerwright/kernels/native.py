"""Whether kernels may run as native operations, and how these are called."""

from __future__ import annotations

import importlib.util
import os
import platform
import sys
import uuid
import warnings
import weakref
from typing import TYPE_CHECKING

from layerwright import environment
from layerwright.kernels import probe, source

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_told: set[str] = set()
_names: dict[int, tuple[Kernel, str]] = {}
_known: weakref.WeakSet[Kernel] = weakref.WeakSet()


def allowed() -> bool:
    """Whether this machine is one whose layouts are known, and nobody has switched native operations off."""
    known = sys.platform == "linux" and platform.machine() == "x86_64"
    return known and os.environ.get("LAYERWRIGHT_NATIVE", "1") != "0"


def usable(framework: str) -> bool:
    """Whether kernels may be native operations of a framework here; warns once where it isn't supported."""
    if os.environ.get("LAYERWRIGHT_NATIVE", "1") == "0":
        return False
    version = environment.version(framework) or "0"
    if not allowed():
        _tell(f"Native operations are for Linux on x86-64, and this is {sys.platform} on {platform.machine()}.")
    elif not probe.works(framework, version):
        _tell(f"Native operations don't work with {framework} {version}.")
    else:
        return True
    return False


def _tell(why: str) -> None:
    if why not in _told:
        _told.add(why)
        warnings.warn(
            f"Kernels run through callbacks here, which are slower. {why} LAYERWRIGHT_NATIVE=0 says that you know.",
            RuntimeWarning,
            stacklevel=2,
        )


def unique_name(kernel: Kernel) -> str:
    """A name for a kernel that only those share which compute the same, in this process and in others."""
    if id(kernel) not in _names:
        mark = kernel.fingerprint or uuid.uuid4().hex[:16]
        _names[id(kernel)] = (kernel, f"{kernel.name}.{mark}")
    return _names[id(kernel)][1]


def forget(kernel: Kernel) -> None:
    """Give a kernel a new name when it is next asked for one."""
    _names.pop(id(kernel), None)


def has_numba() -> bool:
    """Whether Numba is installed; it isn't imported."""
    return "numba" in sys.modules or importlib.util.find_spec("numba") is not None


def announce(kernel: Kernel) -> None:
    """Note a kernel that was defined; TensorFlow, where it is imported, knows its op from now on.

    One that uses what is defined further down is known from its first call on, because its name tells what it computes.
    """
    _known.add(kernel)
    if "tensorflow" in sys.modules and has_numba() and source.is_settled(kernel.function):
        from layerwright.kernels.bridges import tensorflow

        tensorflow.register(kernel)


def known() -> list[Kernel]:
    """The kernels that were defined so far, and whose functions find all that they use."""
    return [kernel for kernel in _known if source.is_settled(kernel.function)]


def register() -> None:
    """Make TensorFlow know all kernels that were defined so far, so that a SavedModel that holds one can be loaded.

    It is needed only where TensorFlow is imported after the kernels' module, and a model is loaded before any kernel
    was called; it imports TensorFlow.
    """
    from layerwright.kernels.bridges import tensorflow

    tensorflow.register(*known())
