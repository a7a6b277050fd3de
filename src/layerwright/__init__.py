"""layerwright: own Keras layers and models, fast and right, on TensorFlow, JAX and PyTorch.

Importing it imports neither Keras nor a framework; what needs them is loaded when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from layerwright import derivatives as derivatives
    from layerwright.checks import check as check
    from layerwright.checks.examples import example as example
    from layerwright.checks.report import Finding as Finding
    from layerwright.checks.report import Report as Report
    from layerwright.checks.subject import Spec as Spec
    from layerwright.errors import LayerwrightError as LayerwrightError
    from layerwright.kernels.kernel import kernel as kernel

__version__ = "0.1.0.dev0"

_PLACES = {
    "check": "layerwright.checks",
    "example": "layerwright.checks.examples",
    "Finding": "layerwright.checks.report",
    "Report": "layerwright.checks.report",
    "Spec": "layerwright.checks.subject",
    "LayerwrightError": "layerwright.errors",
    "kernel": "layerwright.kernels.kernel",
}
# Rooms: modules of further names, such as `lw.derivatives.derive`.
_ROOMS = ("derivatives",)
__all__ = [*_PLACES, *_ROOMS, "__version__"]


def __getattr__(name: str) -> Any:
    if name in _ROOMS:
        return importlib.import_module(f"layerwright.{name}")
    if name not in _PLACES:
        raise AttributeError(f"module 'layerwright' has no attribute {name!r}")
    value = getattr(importlib.import_module(_PLACES[name]), name)
    globals()[name] = value
    return value


def __dir__() -> list[str]:
    return sorted(__all__)
