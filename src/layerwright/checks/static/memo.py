"""Remembering what several detectors ask of one class."""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import TYPE_CHECKING, Concatenate, ParamSpec, TypeVar

if TYPE_CHECKING:
    from layerwright.checks.static.view import ClassView

P = ParamSpec("P")
T = TypeVar("T")


def once(question: Callable[Concatenate[ClassView, P], T]) -> Callable[Concatenate[ClassView, P], T]:
    """Let a function of a class run once for each class and each further argument."""

    def remembered(view: ClassView, /, *args: P.args, **kwargs: P.kwargs) -> T:
        key = (question.__module__, question.__qualname__, *args)
        if key not in view.memo:
            view.memo[key] = question(view, *args, **kwargs)
        value: T = view.memo[key]
        return value

    functools.update_wrapper(remembered, question)
    return remembered
