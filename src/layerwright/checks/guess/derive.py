"""What an error's text says of the inputs that would have been right."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator

from layerwright.checks.attempt import Failure
from layerwright.checks.guess.layouts import Layout

MAX_SIZE = 4096
_RANK = re.compile(
    r"(?:min_)?ndim ?[=>]+ ?(\d)|expected (\d)D|(\d)D (?:tensor|input)|rank[- ](\d)|(\d)-D\b"
    r"|(\d)-dimensional|(\d) dimensions"
)


def derived(layout: Layout, failure: Failure) -> list[Layout]:
    """Inputs that an error asks for: another rank, dtype, structure or size."""
    text = failure.text.split("Arguments received by")[0]
    found = [*_other_structure(layout, failure, text), *_other_rank(layout, text)]
    if layout.dtype == "float32" and re.search(r"\bint(eger|eger type|egers|32|64)?\b|indices", text):
        found.append(dataclasses.replace(layout, dtype="int32"))
    return found if "ndim" in text else found + _other_sizes(layout, text)


def _other_structure(layout: Layout, failure: Failure, text: str) -> Iterator[Layout]:
    if failure.kind == "KeyError" and failure.error.args and isinstance(failure.error.args[0], str) and failure.frames:
        key = failure.error.args[0]
        if key not in layout.keys:
            yield dataclasses.replace(layout, keys=(*layout.keys, key))
    count = re.search(r"expects (\d+) input|list(?: or tuple)? of (?:length |exactly |at least )?(\d|two|three)", text)
    if count:
        number = count[1] or {"two": "2", "three": "3"}.get(count[2], count[2])
        yield dataclasses.replace(layout, items=min(int(number), 6) if int(number) > 1 else 0)
    elif re.search(r"(should be|must be|expects?|called on) an? (list|tuple)|list of (inputs|tensors)", text):
        yield dataclasses.replace(layout, items=2)
    unpacked = re.search(r"(?:not enough|too many) values to unpack \(expected (\d)", text)
    if unpacked:
        number = int(unpacked[1])
        yield from (dataclasses.replace(layout, rank=r) for r in [number] if 1 < r <= 5 and r != layout.rank)
        yield dataclasses.replace(layout, items=number)


def _other_rank(layout: Layout, text: str) -> Iterator[Layout]:
    received = re.search(r"Full shape received: (\(.*?\))", text)
    if received and received[1] != str(layout.shape()) and layout.second == "same":
        # It may be the second input that has the wrong rank.
        yield from (dataclasses.replace(layout, second=second) for second in ("lower", "higher", "column"))
    if re.search(r"\bimages?\b", text) and layout.rank != 4:
        yield dataclasses.replace(layout, rank=4)
    ranks = [int(next(filter(None, found))) for found in _RANK.findall(text)]
    yield from (dataclasses.replace(layout, rank=r) for r in dict.fromkeys(ranks) if 1 <= r <= 5 and r != layout.rank)


def _other_sizes(layout: Layout, text: str) -> list[Layout]:
    shape = layout.shape()
    numbers = dict.fromkeys(int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.]*\.\d)", text.replace("x", " ")))
    fresh = [n for n in numbers if 2 <= n <= MAX_SIZE and n not in shape][:3]
    found = [dataclasses.replace(layout, width=n) for n in fresh]
    if layout.rank == 3:
        found += [dataclasses.replace(layout, steps=n) for n in fresh[:2]]
    elif layout.rank == 4:
        found += [dataclasses.replace(layout, side=n, square=True) for n in fresh[:2] if 16 <= n <= 512]
        # Layers that shrink their input several times need more than a few pixels.
        found += [dataclasses.replace(layout, side=32)] if layout.side < 32 else []
        found += [dataclasses.replace(layout, square=True)] if not layout.square else []
    return found
