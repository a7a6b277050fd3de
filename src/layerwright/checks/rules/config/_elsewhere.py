"""Loading in another process: set by whoever keeps one at hand, so that a check in a notebook needn't start any."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from layerwright.checks.lab import Lab

# Takes the laboratory, whose `stored` is a file; gives the outputs there, an error's text, or None for "not checked".
Load = Callable[[Lab], Any]


def load_elsewhere(lab: Lab) -> Any:
    """What a fresh process makes of the saved layer: its outputs, an error's text, or None where there is none."""
    load: Load | None = getattr(lab, "load_elsewhere", None)
    return None if load is None else load(lab)
