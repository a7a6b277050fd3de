"""What a kernel raised, as the text that a framework's exception carries."""

from __future__ import annotations

import ctypes
import threading
import traceback
import weakref
from collections import deque
from types import TracebackType
from typing import TYPE_CHECKING

from layerwright.errors import four_slots
from layerwright.kernels.replay import replay

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

MESSAGE_BYTES = 1024
# Texts and exceptions, for who raises these again: a kernel may have run on another thread than its caller.
MOST_KEPT = 64
_kept: deque[tuple[str, BaseException]] = deque(maxlen=MOST_KEPT)
_lock = threading.Lock()
_kernels: weakref.WeakValueDictionary[tuple[str, str], Kernel] = weakref.WeakValueDictionary()


def remember(kernel: Kernel) -> None:
    """Know a kernel when machine code tells its name and place."""
    _kernels[kernel.name, kernel.place] = kernel


def tell(
    error: BaseException,
    trace: TracebackType | None,
    name: str,
    place: str,
    dtypes: str,
    arguments: int,
    dimensions: int,
    steps: int,
    message: int,
    row: int,
) -> None:
    """Write what was raised into the buffer at an address, and keep it for `take`. Called by machine code.

    Args:
        error: What was raised.
        trace: Its traceback, where Numba has one.
        name: Of the kernel.
        place: Where its function stands.
        dtypes: Its loop dtypes, with blanks between them.
        arguments, dimensions, steps: What its inner loop was called with: addresses of words.
        message: The address of a buffer of `MESSAGE_BYTES`.
        row: In which row of that loop.
    """
    try:
        again = None
        if trace is None and (name, place) in _kernels:
            # What Numba itself raises, for an index or a division, has no line.
            again = replay(_kernels[name, place], dtypes.split(), arguments, dimensions, steps, row, type(error))
        if again is not None:
            error, trace = again, again.__traceback__
            traceback.clear_frames(trace)
        said = worded(name, place, error, trace)
    except Exception as trouble:  # an exception that can't be shown must not hide that there was one
        said = f"`{name}` raised {type(error).__name__}, which can't be shown: {type(trouble).__name__}."
    with _lock:
        _kept.append((write(message, said), error.with_traceback(trace)))


def write(message: int, said: str) -> str:
    """Write text into the buffer at an address, as much as it holds; what was written."""
    data = said.encode(errors="replace")[: MESSAGE_BYTES - 1].decode(errors="ignore").replace("\0", " ").encode()
    ctypes.memmove(message, data + b"\0", len(data) + 1)
    return data.decode()


def worded(name: str, place: str, error: BaseException, trace: TracebackType | None) -> str:
    """The exception in four slots: the kernel, the class and the message, the user's line."""
    said = str(error)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else place
    return four_slots(f"`{name}` raised {type(error).__name__}{f': {said}' if said else '.'}", where=where)


def take(message: str) -> BaseException | None:
    """An exception that a message is about, once."""
    with _lock:
        found = next((kept for kept in _kept if kept[0] == message), None)
        if found is not None:
            _kept.remove(found)
    return found[1] if found is not None else None
