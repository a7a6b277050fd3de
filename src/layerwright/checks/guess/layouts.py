"""Inputs to try, each described by a few numbers, so that an error's text can change one of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any, Literal

import keras

from layerwright.checks.guess.names import ADJACENCY
from layerwright.checks.guess.reading import Path
from layerwright.checks.guess.view import Parameter, View
from layerwright.checks.subject import OPEN_AXIS, OPEN_BATCH, Spec

Second = Literal["same", "row", "column", "lower", "higher", "longer", "vector", "square"]
SECONDS: tuple[Second, ...] = ("higher", "lower", "row", "column", "vector", "longer", "square")
WIDTH, SIDE, CHANNELS = 8, 8, 3


@dataclasses.dataclass(frozen=True)
class Layout:
    """One set of inputs.

    Attributes:
        rank: Of the main input.
        width: The size of its last axis (of its channels, where those come first).
        steps: The size of axis 1 of sequences.
        side: The height of an image.
        square: Whether its width is the height; else it is half more, so that swapped axes show.
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
    square: bool = False
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
        wide = self.side if self.square else self.side * 3 // 2
        space = (self.side, wide) if self.rank == 4 else (min(self.side, 6),) * (self.rank - 2)
        channels = (self.width or CHANNELS,)
        last = keras.config.image_data_format() == "channels_last"
        return (OPEN_BATCH, *space, *channels) if last else (OPEN_BATCH, *channels, *space)


def likely(view: View, side: int | None = None) -> Iterator[Layout]:
    """The inputs that the code and the names speak for, and plain tensors of every rank.

    Args:
        view: What is known of the inputs.
        side: The size of images, where an argument says it.
    """
    main = (view.main,)
    if side is not None:
        yield Layout(4, side=side, square=True)
    if main in view.reading.expanded:
        yield Layout(2, second="higher")
    if view.takes_ids(main) and main not in view.reading.lists and main not in view.reading.dicts:
        steps, one, column = Layout(2, width=OPEN_AXIS), Layout(1), Layout(2, width=1)
        yield from (dataclasses.replace(layout, dtype="int32") for layout in (steps, one, column))
    for rank in view.ranks:
        yield Layout(rank)
        if rank == 4 == view.ranks[0]:
            yield Layout(rank, square=True)
        if main in view.reading.dicts:
            yield Layout(rank, plain=True)
        if any(len(path) > 1 and path[0] == view.main for path in view.reading.ids):
            yield Layout(rank, ids_rank=2)
    if main in view.reading.maybe_lists or view.variadic:
        yield from (Layout(rank, items=2) for rank in view.ranks[:2])
    yield from (Layout(rank, width=4) for rank in view.ranks[:2])


def unlikely(view: View, sizes: list[int], learned: list[int]) -> Iterator[Layout]:
    """Everything else: ids, lists of two and three, second inputs of other shapes, optional tensors, other sizes.

    Args:
        view: What is known of the inputs.
        sizes: Numbers among the constructor's arguments.
        learned: Ranks that came near.
    """
    first, then = list(dict.fromkeys([*learned, *view.ranks]))[:2]
    tensors = [p for p in view.parameters if p.role == "tensor"]
    if sum(p.required for p in tensors) > 1:
        for second in SECONDS:
            yield from (Layout(rank, second=second) for rank in (first, then))
    yield from (Layout(rank, width=size) for size in sizes if size != WIDTH for rank in (first, then))
    yield from (Layout(2, width=OPEN_AXIS, dtype="int32"), Layout(1, dtype="int32"), Layout(3, dtype="int32"))
    if any(not p.required for p in tensors[1:]):
        yield from (Layout(rank, optional=True) for rank in (first, then))
    if (view.main,) in view.reading.lists or (view.main,) in view.reading.dicts:
        yield from (Layout(rank, plain=True) for rank in (first, then))
    else:
        yield from (Layout(rank, items=count) for count in (2, 3) for rank in (first, then, 4))
    yield from (Layout(4, side=size, square=True) for size in sizes if 16 <= size <= 512)
    yield from (Layout(4, square=True), Layout(4, side=32), Layout(1))
    yield from (Layout(4, dtype="int32"), Layout(3, items=2, dtype="int32"))


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
    if view.variadic and (count := layout.items or view.reading.lists.get((view.main,), 0)):
        args = [Spec(layout.shape(), layout.dtype, view.below)] * count
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
    if ADJACENCY.fullmatch(view.name_of(path)) and (inner or second):
        return Spec(_square(layout), layout.dtype)
    if own_rank is not None and own_rank != layout.rank and (inner or second):
        shape = dataclasses.replace(layout, rank=own_rank).shape()
    elif second:
        rank_1 = layout.second == "same" and view.named_rank(path) == 1
        shape = shape[:1] if rank_1 else _beside(layout)
    return Spec(shape, "int32" if ids and layout.dtype == "int32" else layout.dtype, view.below_of(path))


def _square(layout: Layout) -> tuple[int, ...]:
    """The shape of an adjacency matrix of the nodes that stand where a sequence has its steps."""
    shape = layout.shape()
    return (*shape[:-1], shape[-2]) if layout.rank > 1 else shape


def _beside(layout: Layout) -> tuple[int, ...]:
    """The shape of a second input, set against that of the first."""
    shape = layout.shape()
    shapes = {
        "same": shape,
        "row": shape[:1],
        "column": (*shape[:-1], 1),
        "lower": shape[:-1] if layout.rank != 4 else (OPEN_BATCH, WIDTH),
        "higher": (OPEN_BATCH, OPEN_AXIS, *shape[1:]),
        "longer": (*shape[:1], *(size + 1 for size in shape[1:2]), *shape[2:]),
        "vector": shape[-1:],
        "square": _square(layout),
    }
    return shapes[layout.second]
