"""Recurrent cells: which there are, and what one step of each gives."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.feed import leaves

if TYPE_CHECKING:
    from layerwright.checks.lab import Component, Lab

SYMPTOMS = (
    "output-shape-mismatch", "output-dtype-mismatch", "call-not-traceable", "graph-differs", "batch-dependence",
    "batch-axis-dropped", "batch-size-baked", "length-baked", "static-batch", "no-gradient", "unused-weight", "reload-differs",
)  # fmt: skip


@dataclasses.dataclass(frozen=True)
class OneStep:
    """One step of a cell.

    Attributes:
        states: The shapes of the states that went in, flat.
        result: What `call` returned.
    """

    states: list[tuple[int, ...]]
    result: Any


def cells(lab: Lab) -> Iterator[Component]:
    """The components that are recurrent cells."""
    for component in lab.components:
        own = type(component.layer).__module__.split(".")[0] != "keras"
        if own and internals.is_cell(component.layer) and component.source.method("call") is not None:
            yield component


def one_step(lab: Lab, component: Component) -> Attempt[OneStep]:
    """Call a cell once with the first step of the input and its initial state."""

    def probe() -> OneStep:
        cell, x = component.layer, _first_step(lab, component)
        if not cell.built and not internals.is_default(type(cell).build):
            cell.build(tuple(x.shape))
            cell.built = True
        states = _states(cell, x.shape[0])
        return OneStep([tuple(s.shape) for s in leaves(states)], cell(x, states))

    return lab.attempt(probe)


def _first_step(lab: Lab, component: Component) -> Any:
    arrays = lab.feed.arrays
    if component.path == "self":
        if not arrays:
            raise Skip("the cell has no inputs")
        return keras.ops.convert_to_tensor(arrays[0])
    series = [x for x in arrays if x.ndim >= 3 and np.issubdtype(x.dtype, np.floating)]
    if not series:
        raise Skip("no input is a batch of sequences")
    return keras.ops.convert_to_tensor(series[0][:, 0])


def sizes(cell: Any) -> list[tuple[int, ...]]:
    """The shape of each state without the batch, as `state_size` says."""
    size = cell.state_size
    items = list(size) if isinstance(size, list | tuple) else [size]
    return [tuple(i) if isinstance(i, list | tuple) else (int(i),) for i in items]


def _states(cell: Any, rows: int) -> list[Any]:
    start = getattr(cell, "get_initial_state", None)
    if start is not None and takes_batch_size(start):
        given = start(batch_size=rows)
        return list(given) if isinstance(given, list | tuple) else [given]
    return [keras.ops.zeros((rows, *size), dtype=cell.compute_dtype) for size in sizes(cell)]


def takes_batch_size(method: Any) -> bool:
    """Whether a method can be called with `batch_size` alone."""
    try:
        inspect.signature(method).bind(batch_size=2)
    except TypeError:
        return False
    return True
