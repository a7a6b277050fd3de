"""A layer beside the one that came back of it: what each holds under the same path."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks.walk import held


@dataclasses.dataclass(frozen=True)
class Pair:
    """What two layers hold under one path.

    Attributes:
        path: From the layer, such as `inner.rate`.
        attribute: The attribute of `owner` under which it is found.
        owner: The layer (the subject or one in it) that holds it.
        first, second: The value in the original, and in the other.
    """

    path: str
    attribute: str
    owner: Any
    first: Any
    second: Any


MISSING: Any = object()


def pairs(first: Any, second: Any) -> Iterator[Pair]:
    """Everything that both layers hold in the user's own layers, under the same paths."""
    yield from _pairs(first, second, "", set())


def _pairs(first: Any, second: Any, prefix: str, seen: set[int]) -> Iterator[Pair]:
    if id(first) in seen:
        return
    seen.add(id(first))
    there = {item.path: item.value for item in held(second)}
    for item in held(first):
        other = there.get(item.path, MISSING)
        yield Pair(prefix + item.path, item.attribute, first, item.value, other)
        if isinstance(item.value, keras.layers.Layer) and isinstance(other, keras.layers.Layer):
            yield from _pairs(item.value, other, f"{prefix}{item.path}.", seen)


def is_users(layer: Any) -> bool:
    """Whether a layer's class isn't Keras' own."""
    return type(layer).__module__.split(".")[0] != "keras"


def array(value: Any) -> np.ndarray | None:
    """A tensor or array as an array; None for everything else, Keras variables included."""
    if (
        isinstance(value, keras.Variable | keras.KerasTensor)
        or not hasattr(value, "dtype")
        or not hasattr(value, "shape")
    ):
        return None
    try:
        found = np.asarray(keras.ops.convert_to_numpy(value))
    except Exception:
        try:
            found = np.asarray(value)
        except Exception:
            return None
    return None if found.dtype == object else found


def differ(first: Any, second: Any) -> bool:
    """Whether two plain values or arrays differ in value."""
    one, two = array(first), array(second)
    if one is not None and two is not None:
        return one.shape != two.shape or not np.array_equal(
            one, two, equal_nan=one.dtype.kind == "f" and two.dtype.kind == "f"
        )
    if isinstance(first, float) and isinstance(second, float):
        return not np.isclose(first, second, rtol=1e-6, atol=0.0, equal_nan=True)
    return bool(first != second)
