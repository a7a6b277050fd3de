"""One subject of the sweep, and the small arrays that subjects are fed with."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

BACKENDS = ("tensorflow", "jax", "torch")


@dataclasses.dataclass(frozen=True)
class Case:
    """A layer, constructed sensibly, and what it is called with.

    Attributes:
        make: Makes a fresh layer at every call.
        inputs: Positional arguments of the call.
        kwargs: Keyword arguments of the call.
        backends: Where the layer works.
        why: Why it doesn't work on the other backends; said wherever `backends` isn't all of them.
        batched: Whether axis 0 of the inputs is a batch of independent rows.
        since: The first Keras version with this mode of the layer, where an older one lacks it.
    """

    make: Callable[[], Any]
    inputs: tuple[Any, ...]
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    backends: tuple[str, ...] = BACKENDS
    why: str | None = None
    batched: bool = True
    since: str = "3.12"

    def __post_init__(self) -> None:
        if (self.why is None) != (self.backends == BACKENDS):
            raise ValueError("`why` says why `backends` aren't all three: give both or neither.")


Cases = dict[str, Case]


def class_name(case: str) -> str:
    """The class of a case: `"Dense, relu"` is a case of `Dense`."""
    return case.partition(",")[0]


def floats(*shape: int, seed: int = 0) -> np.ndarray:
    """Normal float32 values."""
    return np.random.default_rng(seed).standard_normal(shape).astype("float32")


def positives(*shape: int, seed: int = 0) -> np.ndarray:
    """Float32 values from 0.1 to 1.1."""
    return (np.random.default_rng(seed).random(shape) + 0.1).astype("float32")


def ids(*shape: int, below: int = 6, dtype: str = "int32", seed: int = 0) -> np.ndarray:
    """Whole numbers from 0, less than `below`."""
    return np.random.default_rng(seed).integers(0, below, shape).astype(dtype)


def image(*shape: int, seed: int = 0) -> np.ndarray:
    """Float32 pixels from 0 to 255; a batch of two small images of three channels where no shape is said."""
    return (np.random.default_rng(seed).random(shape or (2, 8, 6, 3)) * 255).astype("float32")


def mask(*shape: int) -> np.ndarray:
    """A padding mask: the last step of the first row is padded."""
    out = np.ones(shape, dtype="bool")
    out[0, -1] = False
    return out
