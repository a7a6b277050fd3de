"""The few words and styles that all of the text shares."""

from __future__ import annotations

from collections.abc import Sequence

STYLES = {"error": "bold red", "warning": "bold yellow", "note": "bold cyan", "good": "bold green", "code": "dim"}
KINDS = {
    "not-built": "could not be built",
    "not-fed": "could not be fed",
    "inputs-refused": "refuses these inputs",
    "call-failed": "could not be called",
    "crashed": "crashed",
    "timed-out": "timed out",
    "out-of-memory": "ran out of memory",
    "exited": "ended the process",
    "import-failed": "could not be imported",
    "not-read": "could not be read",
}
NAMED = 5


def kind(name: str) -> str:
    """A problem's kind in words."""
    return KINDS.get(name, name.replace("-", " "))


def counted(n: int, noun: str) -> str:
    """`1 note`, `2 notes`."""
    return f"{n} {noun}{'s' * (n != 1)}"


def listed(names: Sequence[str], most: int = NAMED, separator: str = ", ") -> str:
    """`A, B, C and 4 more`."""
    more = len(names) - most
    return separator.join(names) if more <= 0 else f"{separator.join(names[:most])} and {more} more"
