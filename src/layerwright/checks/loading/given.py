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
from layerwright.checks.report import Problem
from layerwright.checks.subject import Spec, Subject
from layerwright.errors import SubjectError


def subject_with(found: Found, specs: list[Spec]) -> Subject:
    """What was found as a subject; its inputs are guessed only where none are given.

    Raises:
        CannotGuess: Where no way to build it is found, and where it refuses these inputs and takes others.
        SubjectError: Where an example returns something else than a layer.
    """
    inputs = tuple(spec.array(seed) for seed, spec in enumerate(specs))
    if not inputs or found.what is None:
        return subject_of(found)
    if isinstance(found.what, Example):
        subject = subject_of(dataclasses.replace(found, what=dataclasses.replace(found.what, inputs=inputs)))
    elif isinstance(found.what, type):
        subject = _class_with(found.what, inputs)
    else:
        subject = Subject(found.name, found.what, inputs)
    _require_taken(found, subject)
    return subject


def _require_taken(found: Found, subject: Subject) -> None:
    """Refuse inputs with which the call fails, where it works with others: the caller's mistake, not the layer's."""
    home = home_of([subject.cls] if subject.cls is not None else [])
    failure = attempt(_call(subject.make, subject.args), home).failure
    if failure is None:
        return
    try:
        other = subject_of(found)
    except (guess.CannotGuess, SubjectError):
        return
    if attempt(lambda: other.make()(*other.args, **other.kwargs), home).ok:
        takes = guess.describe(other.args, dict(other.kwargs))
        raise guess.CannotGuess(
            Problem(
                "inputs-refused",
                f"`{found.name}` takes {takes}, and with {guess.describe(subject.args, {})} raises {failure.summary}",
                "give --inputs as the layer takes them, batch first and once for each, or leave the option out.",
                failure.at.path if failure.at else None,
                failure.at.line if failure.at else None,
            )
        )


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
