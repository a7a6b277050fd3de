"""Inputs to try, each described by a few numbers, so that an error's text can change one of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any, Literal

import keras

from layerwright.checks.attempt import Failure
from layerwright.checks.guess_reading import Path
from layerwright.checks.guess_view import Parameter, View
from layerwright.checks.subject import OPEN_AXIS, OPEN_BATCH, Spec

Second = Literal["same", "row", "column", "lower", "higher", "longer", "vector", "square"]
WIDTH, SIDE, CHANNELS = 8, 8, 3
MAX_SIZE = 4096


@dataclasses.dataclass(frozen=True)
class Layout:
    """One set of inputs.

    Attributes:
        rank: Of the main input.
        width: The size of its last axis (of its channels, where those come first).
        steps: The size of axis 1 of sequences.
        side: The size of each axis of an image.
        ids_rank: The rank of ids that are elements of a list or dict.
        dtype: Of what isn't ids.
        items: How many inputs stand in a list; 0 for none, where the code doesn't say.
        keys: The keys of a dict, where the code doesn't say.
        second: The shape of further positional inputs, set against the first.
        optional: Whether tensors with the default None are given too.
        plain: Whether a single tensor is given where the code reads a list or a dict.
    """

    rank: int
    width: int | None = None
    steps: int = OPEN_AXIS
    side: int = SIDE
    ids_rank: int = 1
    dtype: str = "float32"
    items: int = 0
    keys: tuple[str, ...] = ()
    second: Second = "same"
    optional: bool = False
    plain: bool = False

    def shape(self) -> tuple[int, ...]:
        """The shape of the main input."""
        if self.rank < 2:
            return (OPEN_BATCH,)[: self.rank]
        if self.rank == 2:
            return (OPEN_BATCH, self.width or WIDTH)
        if self.rank == 3:
            return (OPEN_BATCH, self.steps, self.width or WIDTH)
        space = (self.side,) * (self.rank - 2) if self.rank == 4 else (min(self.side, 6),) * (self.rank - 2)
        channels = (self.width or CHANNELS,)
        last = keras.config.image_data_format() == "channels_last"
        return (OPEN_BATCH, *space, *channels) if last else (OPEN_BATCH, *channels, *space)


def likely(view: View) -> Iterator[Layout]:
    """The inputs that the code and the names speak for, and plain tensors of every rank."""
    main = (view.main,)
    if view.takes_ids(main) and main not in view.reading.lists and main not in view.reading.dicts:
        yield from (Layout(2, width=OPEN_AXIS, dtype="int32"), Layout(1, dtype="int32"), Layout(2, width=1, dtype="int32"))
    for rank in view.ranks:
        yield Layout(rank)
        if main in view.reading.dicts:
            yield Layout(rank, plain=True)
        if any(len(path) > 1 and path[0] == view.main for path in view.reading.ids):
            yield Layout(rank, ids_rank=2)
    if main in view.reading.maybe_lists or view.variadic:
        yield from (Layout(rank, items=2) for rank in view.ranks[:2])
    yield from (Layout(rank, width=4) for rank in view.ranks[:2])


def unlikely(view: View, sizes: list[int]) -> Iterator[Layout]:
    """Everything else: ids, lists of two and three, second inputs of other shapes, optional tensors, other sizes."""
    first, then = view.ranks[:2]
    tensors = [p for p in view.parameters if p.role == "tensor"]
    if sum(p.required for p in tensors) > 1:
        for second in ("higher", "lower", "row", "column", "vector", "longer", "square"):
            yield from (Layout(rank, second=second) for rank in (first, then))  # type: ignore[arg-type]
    yield from (Layout(rank, width=size) for size in sizes if size != WIDTH for rank in (first, then))
    yield from (Layout(2, width=OPEN_AXIS, dtype="int32"), Layout(1, dtype="int32"), Layout(3, dtype="int32"))
    if any(not p.required for p in tensors[1:]):
        yield from (Layout(rank, optional=True) for rank in (first, then))
    if (view.main,) in view.reading.lists or (view.main,) in view.reading.dicts:
        yield from (Layout(rank, plain=True) for rank in (first, then))
    else:
        yield from (Layout(rank, items=count) for count in (2, 3) for rank in (first, then, 4))
    yield from (Layout(4, side=32), Layout(1), Layout(4, dtype="int32"), Layout(3, items=2, dtype="int32"))


def fill(view: View, layout: Layout) -> tuple[tuple[Any, ...], dict[str, Any]]:
    """The arguments of the call that a layout describes, with a `Spec` for every array."""
    args: list[Any] = []
    kwargs: dict[str, Any] = {}
    # The RNN around a cell gives it its states.
    for place, parameter in enumerate(view.parameters[:1] if view.wraps_cell else view.parameters):
        if not parameter.required and not (layout.optional and parameter.role == "tensor"):
            continue
        value = _value(view, layout, parameter, place == 0)
        if parameter.keyword_only or kwargs or parameter.role in ("training", "number", "flag", "text"):
            kwargs[parameter.name] = value
        else:
            args.append(value)
    if view.variadic and layout.items:
        args = [Spec(layout.shape(), layout.dtype, view.below)] * layout.items
    return tuple(args), kwargs


def _value(view: View, layout: Layout, parameter: Parameter, main: bool) -> Any:
    if parameter.role == "training":
        return False
    if parameter.role == "number":
        return 2
    if parameter.role == "flag":
        return True
    if parameter.role == "text":
        return "mean"
    if parameter.role == "mask":
        return Spec(layout.shape()[:2] if layout.rank > 2 else layout.shape(), "bool")
    path = (parameter.name,)
    if main:
        return _structure(view, layout, path)
    if "state" in parameter.name and path not in view.reading.dicts:
        return [Spec((OPEN_BATCH, layout.width or WIDTH))]
    return _structure(view, layout, path, second=True)


def _structure(view: View, layout: Layout, path: Path, second: bool = False) -> Any:
    reading = view.reading
    main = not second and len(path) == 1
    if (path in reading.dicts and not (layout.plain and main)) or (main and layout.keys):
        keys = list(dict.fromkeys([*reading.dicts.get(path, []), *(layout.keys if main else ())])) or ["a", "b"]
        return {key: _structure(view, layout, (*path, key), second) for key in keys}
    count = layout.items if main and layout.items and not view.variadic else reading.lists.get(path, 0)
    if count and not (layout.plain and main):
        return [_structure(view, layout, (*path, place), second) for place in range(count)]
    return _leaf(view, layout, path, second)


def _leaf(view: View, layout: Layout, path: Path, second: bool) -> Spec:
    ids = view.takes_ids(path)
    inner = len(path) > 1
    shape = layout.shape()
    own_rank = view.reading.ranks.get(path) or (view.named_rank(path) if inner else None)
    if ids and (inner or second):
        # Ids beside other inputs: one a row, or one a step; a second input has the first one's shape where that fits.
        shape = _beside(layout) if second and not inner else (OPEN_BATCH, OPEN_AXIS)[: layout.ids_rank]
        return Spec(shape, "int32", view.below_of(path))
    if own_rank is not None and own_rank != layout.rank and (inner or second):
        shape = dataclasses.replace(layout, rank=own_rank).shape()
    elif second:
        shape = _time(path, shape) if layout.second == "same" else _beside(layout)
    return Spec(shape, "int32" if ids and layout.dtype == "int32" else layout.dtype, view.below_of(path))


def _time(path: Path, shape: tuple[int, ...]) -> tuple[int, ...]:
    """Diffusion models and neural ODEs take one time for every row."""
    return shape[:1] if re.fullmatch(r"t|times?|timesteps?|noise_levels?|noise_variances?", str(path[-1])) else shape


def _beside(layout: Layout) -> tuple[int, ...]:
    """The shape of a second input, set against that of the first."""
    shape = layout.shape()
    shapes = {
        "same": shape,
        "row": shape[:1],
        "column": (*shape[:-1], 1),
        "lower": shape[:-1] if layout.rank != 4 else (OPEN_BATCH, WIDTH),
        "higher": (OPEN_BATCH, OPEN_AXIS, *shape[1:]),
        "longer": (OPEN_BATCH, layout.steps + 1, *shape[2:]) if layout.rank > 2 else (OPEN_BATCH, (layout.width or WIDTH) + 1),
        "vector": shape[-1:],
        "square": (*shape[:-1], shape[-2]) if layout.rank > 1 else shape,
    }
    return shapes[layout.second]


def derived(layout: Layout, failure: Failure) -> list[Layout]:
    """Inputs that an error asks for: another rank, dtype, structure or size."""
    text = failure.text.split("Arguments received by")[0]
    found = [*_other_structure(layout, failure, text), *_other_rank(layout, text)]
    if layout.dtype == "float32" and re.search(r"\bint(eger|eger type|egers|32|64)?\b|indices", text):
        found.append(dataclasses.replace(layout, dtype="int32"))
    return found + _other_sizes(layout, text)


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
    unpacked = re.search(r"not enough values to unpack \(expected (\d)|too many values to unpack \(expected (\d)", text)
    if unpacked:
        number = int(unpacked[1] or unpacked[2])
        yield from (dataclasses.replace(layout, rank=r) for r in [number] if 1 < r <= 5 and r != layout.rank)
        yield dataclasses.replace(layout, items=number)


def _other_rank(layout: Layout, text: str) -> Iterator[Layout]:
    pattern = r"(?:min_)?ndim ?[=>]+ ?(\d)|expected (\d)D|(\d)D (?:tensor|input)|rank[- ](\d)|(\d)-D\b|(\d)-dimensional|(\d) dimensions"
    if re.search(r"\bimages?\b", text) and layout.rank != 4:
        yield dataclasses.replace(layout, rank=4)
    ranks = [int(next(filter(None, found))) for found in re.findall(pattern, text)]
    yield from (dataclasses.replace(layout, rank=r) for r in dict.fromkeys(ranks) if 1 <= r <= 5 and r != layout.rank)


def _other_sizes(layout: Layout, text: str) -> list[Layout]:
    shape = layout.shape()
    numbers = dict.fromkeys(int(n) for n in re.findall(r"(?<![\w.])\d+(?![\w.]*\.\d)", text.replace("x", " ")))
    fresh = [n for n in numbers if 2 <= n <= MAX_SIZE and n not in shape][:3]
    found = [dataclasses.replace(layout, width=n) for n in fresh]
    if layout.rank == 3:
        found += [dataclasses.replace(layout, steps=n) for n in fresh[:2]]
    elif layout.rank == 4:
        found += [dataclasses.replace(layout, side=n) for n in fresh[:2] if n <= 512]
    return found
