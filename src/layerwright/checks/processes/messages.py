"""Messages between a parent and its child: one JSON object a line, whatever the user's code put into it."""

from __future__ import annotations

import base64
import json
import pickle
from collections.abc import Mapping
from typing import Any

import numpy as np

LONGEST_TEXT = 20_000
DEEPEST = 30
LARGEST_INTEGER_BITS = 1024

Message = dict[str, Any]


def encode(message: Mapping[str, Any]) -> bytes:
    """One line of ASCII. Text that isn't valid Unicode (a file's name, say) survives the way there and back."""
    return json.dumps(plain(message), ensure_ascii=True, check_circular=False).encode("ascii") + b"\n"


def decode(line: bytes) -> Message | None:
    """The message of a line; None where it isn't one (the user's code wrote to the pipe, or died half-way)."""
    try:
        message = json.loads(line)
    except (ValueError, RecursionError):
        return None
    return message if isinstance(message, dict) else None


def plain(value: Any, depth: int = 0) -> Any:
    """Any object as what JSON can hold: NumPy numbers become Python's, what it can't hold becomes text."""
    if value is None or value is True or value is False:
        return value
    if isinstance(value, str):
        return str.__str__(value)  # a plain string, also of a subclass
    if isinstance(value, int) and not isinstance(value, np.generic):
        return int(value) if int(value).bit_length() <= LARGEST_INTEGER_BITS else hex(value)
    if isinstance(value, float):
        return float(value)
    if isinstance(value, np.generic):
        item = value.item()
        return text(item) if isinstance(item, np.generic) else plain(item, depth + 1)
    if depth < DEEPEST and isinstance(value, Mapping):
        return {key if isinstance(key, str) else text(key): plain(item, depth + 1) for key, item in value.items()}
    if depth < DEEPEST and isinstance(value, list | tuple | set | frozenset):
        return [plain(item, depth + 1) for item in value]
    return text(value)


def text(value: Any) -> str:
    """`str(value)`, or its class where that raises."""
    try:
        return str(value)
    except Exception:
        return f"<{type(value).__name__}>"


def shortened(value: Any, longest: int = LONGEST_TEXT) -> Any:
    """The same structure with every text cut in its middle to at most `longest` characters."""
    if isinstance(value, str) and len(value) > longest:
        half = longest // 2
        return f"{value[:half]} ... ({len(value) - 2 * half} characters left out) ... {value[-half:]}"
    if isinstance(value, dict):
        return {key: shortened(item, longest) for key, item in value.items()}
    if isinstance(value, list):
        return [shortened(item, longest) for item in value]
    return value


def summary(error: BaseException, longest: int = 300) -> str:
    """`Kind: first line of its message`, for an exception whose `__str__` may itself raise."""
    lines = text(error).replace("\x1b[1m", "").replace("\x1b[0m", "").strip().splitlines()
    first = f"{type(error).__name__}: {lines[0].strip()}" if lines else type(error).__name__
    return first if len(first) <= longest else first[: longest - 3] + "..."


def pack(value: Any) -> str:
    """Arrays and plain data as text; only for what the reader trusts the writer with."""
    return base64.b64encode(pickle.dumps(value)).decode("ascii")


def unpack(packed: str) -> Any:
    """The inverse of `pack`."""
    return pickle.loads(base64.b64decode(packed))
