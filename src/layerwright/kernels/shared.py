"""Machine code that is the same for all kernels: compiled once an installation, and kept on disk.

Numba's own cache knows of one file at a time: a function is found there although what it calls has changed. Ours names
what it keeps by the text of this whole folder.
"""

from __future__ import annotations

import hashlib
import threading
from collections.abc import Callable
from functools import cache, cached_property
from pathlib import Path
from typing import Any

from numba import cfunc, njit
from numba.core import types

from layerwright.kernels import cache as disk

machine = njit(error_model="numpy")
_lock = threading.RLock()


class Shared:
    """A C function on words; it is compiled, or read from disk, when its address is asked for.

    Args:
        function: What Numba compiles.
        words: How many arguments it has.
        result: Whether it returns a word, or nothing.
    """

    def __init__(self, function: Callable[..., Any], words: int, *, result: bool) -> None:
        self._function = function
        self._signature = (types.int64 if result else types.void)(*[types.int64] * words)
        self._kept: Any = None

    @cached_property
    def address(self) -> int:
        """Of the machine code; it lives as long as the process."""
        with _lock:
            name = f"{self._function.__module__}.{self._function.__name__}"
            path = disk.path_of(name, "shared", (name, _text())) if _text() else None
            kept = disk.load(path)
            if kept is not None:
                self._kept, address = disk.thawed(kept)
                return address
            self._kept = cfunc(self._signature)(self._function)
            if path is not None:
                disk.store(path, disk.frozen(self._kept._library, self._kept._wrapper_name))
            return int(self._kept.address)


def shared(words: int, *, result: bool = True) -> Callable[[Callable[..., Any]], Shared]:
    """Make a function of so many words a C function."""
    return lambda function: Shared(function, words, result=result)


@cache
def _text() -> str:
    """What all code of this folder amounts to; empty where its files can't be read."""
    digest = hashlib.sha256()
    files = sorted(Path(__file__).parent.rglob("*.py"))
    for file in files:
        digest.update(file.read_bytes())
    return digest.hexdigest() if files else ""
