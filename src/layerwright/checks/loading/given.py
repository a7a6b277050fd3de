"""What was found, called with inputs that the user gives instead of guessed ones."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from layerwright.checks import guess
from layerwright.checks.attempt import attempt, home_of
from layerwright.checks.examples import Example
from layerwright.checks.guess.arguments import Plan, plans
from layerwright.checks.loading.found import Found, subject_of
from layerwright.checks.subject import Spec, Subject


def subject_with(found: Found, specs: list[Spec]) -> Subject:
    """What was found as a subject; its inputs are guessed only where none are given.

    Raises:
        CannotGuess: Where no way to build it is found.
        SubjectError: Where an example returns something else than a layer.
    """
    inputs = tuple(spec.array(seed) for seed, spec in enumerate(specs))
    if not inputs or found.what is None:
        return subject_of(found)
    if isinstance(found.what, Example):
        return subject_of(dataclasses.replace(found, what=dataclasses.replace(found.what, inputs=inputs)))
    if isinstance(found.what, type):
        return _class_with(found.what, inputs)
    return Subject(found.name, found.what, inputs)


def _class_with(cls: Any, inputs: tuple[Any, ...]) -> Subject:
    """The first arguments with which the class takes these inputs, else the first with which it can be built."""
    home = home_of([cls])
    working = [plan for plan in plans(cls) if attempt(plan.make, home).ok]
    if not working:
        return dataclasses.replace(guess.build(cls), args=inputs, kwargs={})
    taken = (plan for plan in working if attempt(_call(plan.make, inputs), home).ok)
    plan = next(taken, working[0])
    return Subject(cls.__name__, plan.make, inputs, {}, cls, remarks=tuple(_remarks(plan)))


def _call(make: Callable[[], Any], inputs: tuple[Any, ...]) -> Callable[[], Any]:
    return lambda: make()(*inputs)


def _remarks(plan: Plan) -> Iterator[str]:
    if plan.texts:
        yield f"Guessed: built as `{plan.text}`."
