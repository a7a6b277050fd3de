"""What is checked: how to build a fresh layer, and what to feed it."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import numpy as np

from layerwright.errors import InputsError

OPEN_BATCH = 2
OPEN_AXIS = 5


@dataclasses.dataclass(frozen=True)
class Spec:
    """The shape and dtype of an input, where no array is at hand.

    Args:
        shape: With the batch axis first; `None` for an axis of any size.
        dtype: A Keras dtype name.
        below: For integers, one more than the largest value (token ids below the vocabulary's size).

    Example:
        >>> Spec((None, 32)).array().shape
        (2, 32)
    """

    shape: tuple[int | None, ...]
    dtype: str = "float32"
    below: int = 4

    def __post_init__(self) -> None:
        if not isinstance(self.shape, tuple | list):
            raise InputsError(
                "`Spec` takes a shape.",
                expected="a tuple of whole numbers and None, batch first",
                got=repr(self.shape),
                fix="write for example lw.Spec((None, 32)).",
            )
        bad = [d for d in self.shape if not (d is None or (isinstance(d, int) and d >= 0))]
        if bad:
            raise InputsError(
                f"`Spec` has a shape with {bad[0]!r} in it.",
                expected="whole numbers from 0, or None for an open axis",
                got=repr(self.shape),
                fix="write for example lw.Spec((None, 32)).",
            )

    def array(self, seed: int = 0) -> np.ndarray:
        """An array of this shape: normal floats, integers from 0 to `below`, mixed booleans."""
        rng = np.random.default_rng(seed)
        first = [OPEN_BATCH if d is None else d for d in self.shape[:1]]
        shape = (*first, *(OPEN_AXIS if d is None else d for d in self.shape[1:]))
        if self.dtype == "bool":
            return rng.random(shape) < 0.5
        if "int" in self.dtype:
            return rng.integers(0, self.below, shape).astype(self.dtype)
        values = rng.standard_normal(shape)
        return values.astype("float32" if "float16" in self.dtype else self.dtype)


@dataclasses.dataclass
class Subject:
    """A layer or model to check.

    Attributes:
        name: How reports call it.
        make: Makes a fresh instance at every call.
        args, kwargs: What it is called with: NumPy arrays (nested in lists, tuples and dicts as the layer
            takes them) and, as they are, arguments that aren't tensors.
        cls: Its class, where that is known before it is made.
        batched: Whether axis 0 of every array is a batch of independent rows.
        remarks: How it was built or what was guessed, in sentences for the reader.
    """

    name: str
    make: Callable[[], Any]
    args: tuple[Any, ...] = ()
    kwargs: Mapping[str, Any] = dataclasses.field(default_factory=dict)
    cls: type | None = None
    batched: bool = True
    remarks: tuple[str, ...] = ()
