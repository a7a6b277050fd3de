"""What a kernel raised, as the text that a framework's exception carries."""

from __future__ import annotations

import ctypes
import threading
from types import TracebackType

from layerwright.errors import four_slots

MESSAGE_BYTES = 1024
_last = threading.local()


def tell(name: str, error: BaseException, trace: TracebackType | None, message: int) -> None:
    """Write what was raised into the buffer at an address, and keep it for `take`. Called by machine code."""
    try:
        said = worded(name, error, trace)
        _last.error = error.with_traceback(trace)
    except Exception as trouble:  # an exception that can't be shown must not hide that there was one
        said = f"`{name}` raised {type(error).__name__}, which can't be shown: {type(trouble).__name__}."
    data = said.encode()[: MESSAGE_BYTES - 1].decode(errors="ignore").encode() + b"\0"
    ctypes.memmove(message, data, len(data))


def worded(name: str, error: BaseException, trace: TracebackType | None) -> str:
    """The exception in four slots: the kernel, the class and the message, the user's line."""
    said = str(error)
    while trace is not None and trace.tb_next is not None:
        trace = trace.tb_next
    where = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}" if trace is not None else None
    return four_slots(f"`{name}` raised {type(error).__name__}{f': {said}' if said else '.'}", where=where)


def take() -> BaseException | None:
    """The last exception that a kernel raised on this thread, once."""
    error = getattr(_last, "error", None)
    _last.error = None
    return error
