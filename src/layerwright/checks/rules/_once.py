"""Remembering what several rules of a family ask for."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, TypeVar

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab

T = TypeVar("T")


def once(probe: Callable[[Lab], T]) -> Callable[[Lab], T]:
    """Let a function of a laboratory run once for each laboratory."""
    key = f"{probe.__module__}.{probe.__qualname__}"

    @functools.wraps(probe)
    def remembered(lab: Lab) -> T:
        known = vars(lab)
        if key not in known:
            known[key] = probe(lab)
        value: T = known[key]
        return value

    return remembered
