"""Where the text goes: a terminal with colours and a width, or a pipe with neither."""

from __future__ import annotations

import io
import os
import re
from collections.abc import Iterable, Iterator
from typing import IO, TYPE_CHECKING

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text

UNBOUNDED = 100_000
NARROWEST = 24
CONTROL = re.compile(r"[\x00-\x08\x0b-\x1f\x7f-\x9f\ud800-\udfff\u2028\u2029\u202a-\u202e\u2066-\u2069]")
QUOTED = re.compile(r"`[^`\n]+`")


def console(file: IO[str] | None) -> Console:
    """A console on `file`: no colours where it is piped, where NO_COLOR is set, or on a dumb terminal."""
    from rich.console import Console

    class Quiet(Console):
        """Leaves it to the command how a closed pipe ends; Rich would end the process with status 1."""

        def on_broken_pipe(self) -> None:
            raise BrokenPipeError

    plain = bool(os.environ.get("NO_COLOR")) or os.environ.get("TERM") == "dumb"
    made = Quiet(
        file=file or io.StringIO(), color_system=None if plain else "auto", highlight=False, markup=False, emoji=False
    )
    if not made.is_terminal and not os.environ.get("COLUMNS"):
        made.width = UNBOUNDED  # who pipes wants a sentence on one line, to search and to cut
    made.width = max(made.width, NARROWEST)
    return made


def safe(text: str) -> str:
    """The text with its control characters written out: what users' code says must not steer the terminal."""
    return CONTROL.sub(lambda match: match.group().encode("unicode_escape").decode(), text)


def place(path: str | None, line: int | None) -> str:
    """`path:line`, the path relative to the working directory where it lies below it."""
    if path is None:
        return ""
    below = os.path.relpath(path) if os.path.isabs(path) else path
    shown = path if below.startswith(os.pardir) else below
    return safe(shown if line is None else f"{shown}:{line}")


def prose(text: str, style: str = "") -> Text:
    """A sentence whose names in backticks stand out."""
    from rich.text import Text

    made = Text(safe(text), style=style)
    made.highlight_regex(QUOTED, "bold")
    return made


def wrapped(on: Console, text: Text, first: str = "", rest: str | None = None) -> Iterator[Text]:
    """The text in lines of the console's width, the first behind `first`, the others behind `rest`."""
    from rich.text import Text

    rest = " " * len(first) if rest is None else rest
    width = max(on.width - max(len(first), len(rest)), NARROWEST // 2)
    for number, line in enumerate(text.wrap(on, width, overflow="fold")):
        line.rstrip()
        yield Text(rest if number else first) + line


def write(on: Console, lines: Iterable[Text | str]) -> None:
    """Print lines that were wrapped already."""
    for line in lines:
        on.print(line, soft_wrap=True)
