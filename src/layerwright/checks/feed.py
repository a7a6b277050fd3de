"""Inputs in all the forms in which the probes need them, and outputs as flat lists of arrays."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping
from typing import Any

import keras
import numpy as np

from layerwright.checks.subject import Spec, Subject


@dataclasses.dataclass(frozen=True)
class Feed:
    """The arguments of one call: NumPy arrays in the structure that the layer takes, and what isn't a tensor."""

    args: tuple[Any, ...]
    kwargs: Mapping[str, Any]

    def map(self, change: Callable[[np.ndarray], Any]) -> Feed:
        """The same call with every array changed."""
        args, kwargs = keras.tree.map_structure(
            lambda x: change(x) if isinstance(x, np.ndarray) else x, (tuple(self.args), dict(self.kwargs))
        )
        return Feed(args, kwargs)

    def map_tensors(self, change: Callable[[Any], Any]) -> Feed:
        """The same call with every array and every tensor of the framework changed."""
        args, kwargs = keras.tree.map_structure(
            lambda x: change(x) if isinstance(x, np.ndarray) or keras.ops.is_tensor(x) else x,
            (tuple(self.args), dict(self.kwargs)),
        )
        return Feed(args, kwargs)

    @property
    def arrays(self) -> list[np.ndarray]:
        """All arrays, flat."""
        leaves = keras.tree.flatten((tuple(self.args), dict(self.kwargs)))
        return [x for x in leaves if isinstance(x, np.ndarray)]

    @property
    def floats(self) -> list[np.ndarray]:
        """The floating arrays, flat."""
        return [x for x in self.arrays if np.issubdtype(x.dtype, np.floating)]

    @property
    def rows(self) -> int | None:
        """The size of the batch, where all arrays agree on one."""
        sizes = {x.shape[0] if x.ndim else None for x in self.arrays}
        return sizes.pop() if len(sizes) == 1 else None

    def select(self, index: Any) -> Feed:
        """Some of the rows."""
        return self.map(lambda x: x[index])

    def floating(self, change: Callable[[np.ndarray], np.ndarray]) -> Feed:
        """The same call with every floating array changed."""
        return self.map(lambda x: change(x).astype(x.dtype) if np.issubdtype(x.dtype, np.floating) else x)

    def zeros(self) -> Feed:
        """Zeros in every floating array."""
        return self.floating(np.zeros_like)

    def normal(self, seed: int = 0, scale: float = 1.0) -> Feed:
        """Random normal numbers in every floating array."""
        rng = np.random.default_rng(seed)
        return self.floating(lambda x: scale * rng.standard_normal(x.shape))

    def symbolic(self, batch: bool = True, axes: tuple[int, ...] = ()) -> Feed:
        """Keras tensors with an open batch (and other open axes) in place of the arrays."""

        def spec(x: np.ndarray) -> Any:
            open_axes = {*([0] if batch and x.ndim else []), *axes}
            shape = tuple(None if axis in open_axes else size for axis, size in enumerate(x.shape))
            return keras.KerasTensor(shape, dtype="string" if textual(x) else keras.backend.standardize_dtype(x.dtype))

        return self.map(spec)

    def with_keywords(self, **kwargs: Any) -> Feed:
        """The same call with further keyword arguments."""
        return Feed(self.args, {**self.kwargs, **kwargs})


def feed_of(subject: Subject) -> Feed:
    """The subject's inputs as NumPy arrays; specs and `keras.Input` tensors get values."""

    def array(x: Any) -> Any:
        if isinstance(x, Spec):
            return x.array()
        if isinstance(x, keras.KerasTensor):
            return Spec(tuple(x.shape), x.dtype).array()
        if isinstance(x, keras.Variable) or keras.ops.is_tensor(x):
            return keras.ops.convert_to_numpy(x)
        return x

    args, kwargs = keras.tree.map_structure(array, (tuple(subject.args), dict(subject.kwargs)))
    return Feed(args, kwargs)


def leaves(outputs: Any) -> list[Any]:
    """The tensors of a structure of outputs, without the Nones."""
    return [y for y in keras.tree.flatten(outputs) if y is not None]


def arrays(outputs: Any) -> list[np.ndarray]:
    """A structure of outputs as a flat list of arrays."""
    return [np.asarray(keras.ops.convert_to_numpy(y)) for y in leaves(outputs)]


def textual(x: np.ndarray) -> bool:
    """Whether an array holds strings, or whatever else isn't numbers."""
    return x.dtype.kind in "OSU"


def close(first: list[np.ndarray], second: list[np.ndarray], tolerance: float = 1e-4) -> bool:
    """Whether two lists of outputs are equal within rounding: shapes too, NaN like NaN."""
    return len(first) == len(second) and all(
        a.shape == b.shape and gap(a, b) <= tolerance * (1.0 + magnitude(a)) for a, b in zip(first, second, strict=True)
    )


def gap(a: np.ndarray, b: np.ndarray) -> float:
    """The largest difference between two arrays of one shape; infinite where only one is finite."""
    if textual(a) or textual(b):
        return 0.0 if np.array_equal(a, b) else float("inf")
    a, b = a.astype("float64"), b.astype("float64")
    if not a.size:
        return 0.0
    same = (a == b) | (np.isnan(a) & np.isnan(b))
    with np.errstate(invalid="ignore"):
        distance = np.where(same, 0.0, np.abs(a - b))
    return float(np.max(np.where(np.isnan(distance), np.inf, distance)))


def magnitude(a: np.ndarray) -> float:
    """The largest finite absolute value."""
    if textual(a) or not a.size:
        return 0.0
    finite = np.abs(a.astype("float64"))[np.isfinite(a.astype("float64"))]
    return float(finite.max()) if finite.size else 0.0


def finite(values: list[np.ndarray]) -> bool:
    """Whether every number of every array is finite."""
    return all(bool(np.isfinite(v.astype("float64")).all()) for v in values if not textual(v))


def worst(first: list[np.ndarray], second: list[np.ndarray]) -> float:
    """The largest difference between two lists of outputs."""
    pairs = zip(first, second, strict=False)
    return max((gap(a, b) if a.shape == b.shape else float("inf") for a, b in pairs), default=0.0)
