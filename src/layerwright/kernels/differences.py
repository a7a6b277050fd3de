"""Gradients beside central differences, in float64."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from layerwright.errors import GradientError, SignatureError
from layerwright.kernels.bridges import numpy as host
from layerwright.kernels.dtypes import WEAK
from layerwright.kernels.signature import broadcast_axes

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

# Of several steps the best counts, element by element: a large one leaves the straight part of a curve, a small one
# loses digits.
STEPS = (1e-3, 1e-4, 1e-5, 1e-6)


def check_gradient(
    kernel: Kernel,
    inputs: Sequence[Any],
    tolerance: float,
    of: Sequence[str] | None = None,
    arguments: Sequence[str] | None = None,
) -> None:
    """See `Kernel.check_gradient`."""
    for chosen, known in ((of, kernel.results), (arguments, kernel.arguments)):
        if not set(chosen or ()) <= set(known):
            raise SignatureError(
                f"`{kernel.name}` has nothing of that name.", expected=", ".join(known), got=", ".join(chosen or ())
            )
    if not kernel.has_gradient:
        raise kernel.no_gradient()
    values = [_wide(x) for x in inputs]
    dtypes = kernel.plan([x.dtype.name for x in values]).loop
    outputs = host.compute(kernel, dtypes, values)
    rng = np.random.default_rng(0)
    cotangents = [
        rng.uniform(0.5, 1.5, y.shape) * (of is None or name in of)
        if y.dtype.kind == "f"
        else np.zeros(y.shape, "float32")
        for y, name in zip(outputs, kernel.results, strict=True)
    ]
    derived = host.compute(kernel.derivative(dtypes), kernel.gradient_dtypes(dtypes), [*values, *outputs, *cotangents])
    for k, x in enumerate(values):
        if x.dtype.kind == "f" and (arguments is None or kernel.arguments[k] in arguments):
            _compare(kernel, dtypes, values, cotangents, k, summed(derived[k], x.shape), tolerance)


def summed(gradient: np.ndarray, shape: tuple[int, ...]) -> np.ndarray:
    """A gradient summed over the axes along which the input was broadcast."""
    total: np.ndarray = np.sum(gradient, axis=broadcast_axes(gradient.shape, shape))
    return total.reshape(shape)


def _wide(x: Any) -> np.ndarray:
    """An input as an array, whose floats are float64."""
    array = np.array(x, "float64") if type(x) in WEAK and type(x) is not bool else np.array(x)
    return array.astype("float64") if array.dtype.kind == "f" or array.dtype.name == "bfloat16" else array


def _compare(
    kernel: Kernel,
    dtypes: Sequence[str],
    values: Sequence[np.ndarray],
    cotangents: Sequence[np.ndarray],
    k: int,
    gradient: np.ndarray,
    tolerance: float,
) -> None:
    worst, place, pair = 0.0, (), (0.0, 0.0)
    for index in np.ndindex(values[k].shape):
        got = float(gradient[index])
        slopes = list(_slopes(kernel, dtypes, values, cotangents, k, index))
        near = min(slopes, key=lambda slope: abs(slope - got) if np.isfinite(slope) else np.inf)
        error = abs(near - got) / max(1.0, abs(near), abs(got)) if np.isfinite([near, got]).all() else np.inf
        if not error <= worst:
            worst, place, pair = error, index, (near, got)
    if not worst <= tolerance:
        where = f" at {place}" if place else ""
        raise GradientError(
            f"The gradient of `{kernel.name}` for `{kernel.arguments[k]}` is wrong{where}.",
            expected=f"{pair[0]:.9g}, by central differences",
            got=f"{pair[1]:.9g}",
            fix=f"compare `{kernel.arguments[k]}` in its backward function with the derivative by hand.",
            where=kernel.derivative(dtypes).place,
        )


def _slopes(
    kernel: Kernel,
    dtypes: Sequence[str],
    values: Sequence[np.ndarray],
    cotangents: Sequence[np.ndarray],
    k: int,
    index: tuple[int, ...],
) -> Iterator[float]:
    """The slope of the weighted outputs along one element, for every step."""
    for step in STEPS:
        h = step * max(1.0, abs(float(values[k][index])))
        ends = []
        for sign in (1.0, -1.0):
            moved = [x.copy() for x in values]
            moved[k][index] += sign * h
            outputs = host.compute(kernel, dtypes, moved)
            ends.append([y for y in outputs if y.dtype.kind == "f"])
        floating = [c for c in cotangents if c.dtype == np.float64]
        difference = sum(float(np.sum(c * (a - b))) for c, a, b in zip(floating, *ends, strict=True))
        yield difference / (2.0 * h)
