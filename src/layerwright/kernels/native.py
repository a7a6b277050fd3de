"""Whether kernels may run as native operations, and how these are called."""

from __future__ import annotations

import itertools
import os
import platform
import sys
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_serial = itertools.count(1)
_names: dict[int, tuple[Kernel, str]] = {}


def allowed() -> bool:
    """Whether this machine is one whose layouts are known, and nobody has switched native operations off."""
    known = sys.platform == "linux" and platform.machine() == "x86_64"
    return known and os.environ.get("LAYERWRIGHT_NATIVE", "1") != "0"


def unique_name(kernel: Kernel) -> str:
    """A name for a kernel that only those share which compute the same, in this process and in others."""
    if id(kernel) not in _names:
        mark = kernel.fingerprint or f"{next(_serial)}"
        _names[id(kernel)] = (kernel, f"{kernel.name}.{mark}")
    return _names[id(kernel)][1]
