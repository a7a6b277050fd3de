"""The line of source to which a finding points, and the part of it that is underlined."""

from __future__ import annotations

import dataclasses
import io
import linecache
import re
import tokenize
from pathlib import Path

TAB = 4


@dataclasses.dataclass(frozen=True)
class Excerpt:
    """One line of source without its indentation, and the columns of its cause (end excluded)."""

    number: int
    text: str
    start: int
    end: int

    def cropped(self, width: int) -> Excerpt:
        """The excerpt in at most `width` columns, with dots where it was cut; the cause's start stays in view."""
        if len(self.text) <= width:
            return self
        first = 0 if self.start < width * 2 // 3 else self.start - width // 3
        before, after = "..." * (first > 0), "..." * (first + width < len(self.text))
        text = before + self.text[first + len(before) : first + width - len(after)] + after
        start = self.start - first
        return Excerpt(self.number, text, start, max(min(self.end - first, width - len(after)), start + 1))


def excerpt(path: str | None, line: int | None, message: str = "") -> Excerpt | None:
    """The line as it stands in the file now; None where the file or the line is gone, or is blank."""
    if path is None or line is None:
        return None
    text = _line(path, line).expandtabs(TAB).strip()
    if not text:
        return None
    start, end = cause(text, message)
    return Excerpt(line, text, start, end)


def _line(path: str, number: int) -> str:
    # Neither a pipe nor a device may be opened: reading it would wait for ever.
    if path not in linecache.cache and not Path(path).is_file():
        return ""
    try:
        return linecache.getline(path, number)
    except (OSError, ValueError, MemoryError):  # a NUL in the path, a file that is no text
        return ""


def cause(text: str, message: str) -> tuple[int, int]:
    """The columns of the first name in backticks that the line holds, else those of the whole statement."""
    names = re.findall(r"`([^`]+)`", message)
    bare = [name.split("(")[0] for name in names]  # `get_config()`, then `layer.get_config`, by their last part
    for word in (*names, *bare, *(name.rsplit(".", 1)[-1] for name in bare)):
        found = re.search(rf"(?<!\w){re.escape(word)}(?!\w)", text) if word else None
        if found:
            return found.span()
    return 0, len(_without_comment(text))


def _without_comment(text: str) -> str:
    try:
        for token in tokenize.generate_tokens(io.StringIO(text).readline):
            if token.type == tokenize.COMMENT and token.start[0] == 1:
                return text[: token.start[1]].rstrip() or text
    except (tokenize.TokenError, SyntaxError):  # the line is a part of a longer statement
        pass
    return text
