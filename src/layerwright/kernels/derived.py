"""Gradients of kernels that `autodiff` derives from their source, for the dtypes of a call."""

from __future__ import annotations

import dataclasses
import threading
from typing import TYPE_CHECKING

from layerwright import autodiff

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_lock = threading.RLock()
_made: dict[tuple[int, tuple[str, ...]], tuple[Kernel, Kernel]] = {}


def gradient(kernel: Kernel, dtypes: tuple[str, ...]) -> Kernel:
    """The gradient of a kernel as a kernel, which has a gradient of its own; derived once.

    Args:
        kernel: A kernel without a gradient by hand.
        dtypes: Its loop dtypes.

    Raises:
        DifferentiationError: Where the function holds what isn't differentiated, at its line.
    """
    with _lock:
        key = (id(kernel), dtypes)
        if key not in _made:
            _made[key] = (kernel, _second(kernel) if kernel.derivation is not None else _first(kernel, dtypes))
        return _made[key][1]


def check(kernel: Kernel) -> None:
    """Derive the gradient for float64.

    Raises:
        DifferentiationError: Where the function holds what isn't differentiated, at its line.
    """
    count = 0 if kernel.elementwise else len(kernel.signature.outputs)
    _derivation(kernel, ("float64",) * (len(kernel.arguments) + count))


def _first(kernel: Kernel, dtypes: tuple[str, ...]) -> Kernel:
    derivation = _derivation(kernel, dtypes)
    return _kernel(kernel, derivation, derivation)


def _second(kernel: Kernel) -> Kernel:
    assert kernel.derivation is not None
    return _kernel(kernel, kernel.derivation.second, None)


def _derivation(kernel: Kernel, dtypes: tuple[str, ...]) -> autodiff.Derivative:
    from layerwright.kernels.types_of import types_of

    count = len(kernel.arguments)
    signature = None if kernel.elementwise else str(kernel.signature)
    given = dtypes[:count] if kernel.elementwise else dtypes
    return autodiff.derive(kernel.function, signature, dtypes=given, oracle=types_of)


def _kernel(of: Kernel, derived: autodiff.Derived, derivation: autodiff.Derivative | None) -> Kernel:
    from layerwright.kernels.kernel import Kernel
    from layerwright.kernels.types_of import jittable

    signature = None if of.elementwise else of.signature.gradient()
    options = dataclasses.replace(of.options, outputs=None, aliases=None, differentiable=None if derivation else False)
    made = Kernel(jittable(derived.function), signature, options, name=f"{of.name}_backward")
    made.derivation, made.origin = derivation, of.origin or of
    return made
