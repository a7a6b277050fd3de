"""How a class can be built and fed, where nobody says."""

from __future__ import annotations

import ast
import dataclasses
import re
from collections.abc import Callable, Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Failure, attempt, home_of
from layerwright.checks.guess.arguments import Plan, plans
from layerwright.checks.guess.layouts import Layout, fill, likely, unlikely
from layerwright.checks.guess.search import Search, Try, arrays, on_purpose, own_fault
from layerwright.checks.guess.view import View
from layerwright.checks.loading.modules import why_missing
from layerwright.checks.report import Problem
from layerwright.checks.source import Function, function_of
from layerwright.checks.subject import OPEN_AXIS, Spec, Subject

MISSPELT = ("cal", "Call", "calls", "forward", "_call", "__call__")
Inputs = tuple[tuple[Any, ...], dict[str, Any]]


class CannotGuess(Exception):
    """No way to build a class, or to feed it, was found.

    Attributes:
        problem: Of kind `"not-built"` or `"not-fed"`, with the line of code that would help.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


def build(cls: Any) -> Subject:
    """Find constructor arguments of a class, and inputs that it takes.

    A class that fails with a fault of its own, whatever it is given, comes back with the likeliest arguments and
    inputs: what is wrong with it is for the rules to say.

    Raises:
        CannotGuess: Where none are found.
    """
    with internals.global_state_kept():
        return _Builder(cls).build()


def inputs_for(make: Callable[[], Any]) -> Inputs:
    """Find inputs for what a callable makes: positional ones, and keyword ones, as arrays.

    Raises:
        CannotGuess: Where none are found.
    """
    with internals.global_state_kept():
        made = attempt(make, home_of([]))
        if made.failure is not None:
            return arrays(((Spec((2, 8)),), {}))  # type: ignore[no-any-return]
        layer = made.get()
        inputs = _declared(layer)
        if inputs is not None:
            return inputs
        search = Search(make, View(layer), home_of([type(layer)]))
        found = (
            search.run(likely(search.view)) or search.run(unlikely(search.view, [], _learned(search))) or search.passed
        )
        layout = found.layout if found else _likeliest(search)
        if layout is None:
            raise CannotGuess(_not_fed(type(layer), search, None))
        return arrays(fill(search.view, layout))  # type: ignore[no-any-return]


def describe(args: tuple[Any, ...], kwargs: dict[str, Any]) -> str:
    """Inputs in words: `float32 (2, 8)`."""
    parts = [_said(a) for a in args] + [f"{name}={_said(value)}" for name, value in kwargs.items()]
    return ", ".join(parts) or "nothing"


def _said(value: Any) -> str:
    if isinstance(value, np.ndarray):
        return f"{value.dtype} {value.shape}"
    if isinstance(value, dict):
        return "{" + ", ".join(f"{k!r}: {_said(v)}" for k, v in value.items()) + "}"
    if isinstance(value, list | tuple):
        return "[" + ", ".join(map(_said, value)) + "]"
    return repr(value)


class _Builder:
    def __init__(self, cls: Any) -> None:
        self.cls = cls
        self.home = home_of([cls])
        self.failures: list[tuple[Plan, Failure]] = []

    def build(self) -> Subject:
        if not _is_called(self.cls):
            raise CannotGuess(_nothing_to_call(self.cls))
        searches = list(self._searches())
        if not searches:
            return self._unbuilt()
        for plan, search in searches:
            inputs = _declared(search.view.layer)
            if inputs is not None:
                return self._subject(plan, search, *inputs)
            found = search.run(likely(search.view, plan.side))
            if found is not None:
                return self._found(plan, search, found)
        for plan, search in searches:
            if not search.stuck and (found := search.run(unlikely(search.view, plan.integers(), _learned(search)))):
                return self._found(plan, search, found)
        return self._fallback(searches)

    def _fallback(self, searches: list[tuple[Plan, Search]]) -> Subject:
        for plan, search in searches:
            if search.passed is not None and not search.view.mixes_literals:
                return self._found(plan, search, search.passed)
        for plan, search in searches:
            layout = _likeliest(search)
            if layout is not None:
                subject = self._subject(plan, search, *arrays(fill(search.view, layout)))
                reason = why_missing(self.cls.__module__, search.failures[0][1].error)
                return dataclasses.replace(subject, remarks=(*subject.remarks, reason)) if reason else subject
        plan, search = searches[0]
        raise CannotGuess(_not_fed(self.cls, search, plan))

    def _searches(self) -> Iterator[tuple[Plan, Search]]:
        """Every plan that gives an instance; a plan that misses arguments is tried again with them."""
        for plan in plans(self.cls):
            made = attempt(plan.make, self.home)
            names = _missing_arguments(made.failure) if made.failure is not None else []
            if names:
                plan = plan.with_names(names)
                made = attempt(plan.make, self.home)
            if made.failure is not None:
                self.failures.append((plan, made.failure))
                continue
            view = View(made.get())
            yield plan, Search(self._maker(plan, view), view, self.home)

    def _maker(self, plan: Plan, view: View) -> Callable[[], Any]:
        return (lambda: keras.layers.RNN(plan.make())) if view.wraps_cell else plan.make

    def _found(self, plan: Plan, search: Search, found: Try) -> Subject:
        return self._subject(plan, search, *arrays(fill(search.view, found.layout)))

    def _subject(self, plan: Plan, search: Search, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Subject:
        told = f"built as `{plan.text}`" if plan.texts else None
        fed = f"called with {describe(args, kwargs)}"
        said = f"Guessed: {told + ', ' if told else ''}{fed}."
        remarks = (said, "The cell is run by `keras.layers.RNN`.") if search.view.wraps_cell else (said,)
        return Subject(self.cls.__name__, search.make, args, kwargs, self.cls, remarks=remarks)

    def _unbuilt(self) -> Subject:
        plan, failure = self.failures[0]
        told = {failure.text for _, failure in self.failures}
        theirs = self.cls.__module__.split(".")[0] != "keras"
        if theirs and len(told) == 1 and not on_purpose(failure) and own_fault([f for _, f in self.failures]):
            args, kwargs = arrays(((Spec((2, 8)),), {}))
            remark = f"Guessed: built as `{plan.text}`, called with {describe(args, kwargs)}."
            return Subject(self.cls.__name__, plan.make, args, kwargs, self.cls, remarks=(remark,))
        at = failure.at
        names = ", ".join(f"{name}=..." for name in plan.texts)
        raise CannotGuess(
            Problem(
                "not-built",
                f"No values were found for the arguments of `{self.cls.__name__}`: "
                f"`{plan.text}` raises {failure.summary}.",
                f"write `@lw.example({names}, inputs=lw.Spec((None, 8)))` above the class.",
                at.path if at else None,
                at.line if at else None,
            )
        )


def _is_called(cls: Any) -> bool:
    """Whether a class has something to call: a `call` (perhaps misspelt), or a graph built by its constructor."""
    if cls.call not in (keras.layers.Layer.call, keras.Model.call):
        return True
    theirs = [base for base in cls.__mro__ if base.__module__.split(".")[0] not in ("keras", "torch", "tensorflow")]
    if any(name in vars(base) for base in theirs for name in MISSPELT):
        return True
    constructor = function_of(cls.__init__)
    # A functional model hands its inputs and outputs on.
    return issubclass(cls, keras.Model) and constructor is not None and _builds_graph(constructor)


def _builds_graph(constructor: Function) -> bool:
    supers = [c for c in constructor.calls() if isinstance(c.func, ast.Attribute) and c.func.attr == "__init__"]
    return any(c.args or any(k.arg in ("inputs", "outputs") for k in c.keywords) for c in supers)


def _nothing_to_call(cls: Any) -> Problem:
    function = function_of(cls.__init__)
    return Problem(
        "not-fed",
        f"`{cls.__name__}` defines no `call`, so there is nothing to feed.",
        "define `call`, or check the layers that it holds.",
        function.path if function else None,
        function.line if function else None,
    )


def _missing_arguments(failure: Failure) -> list[str]:
    """The names of arguments that a constructor asks for without having them in its signature."""
    if failure.kind == "TypeError" and "missing" in failure.text:
        return re.findall(r"'(\w+)'", failure.text)
    if failure.kind == "KeyError" and failure.error.args and str(failure.error.args[0]).isidentifier():
        return [str(failure.error.args[0])]
    return []


def _declared(layer: Any) -> Inputs | None:
    """The inputs that a functional model declares."""
    try:
        if isinstance(layer, keras.Sequential):
            structure = layer.inputs[0] if layer.built and len(layer.inputs) == 1 else None
        else:
            structure = layer.input if internals.is_functional(layer) else None
    except (AttributeError, ValueError):
        return None
    if structure is None:
        return None
    args = arrays(keras.tree.map_structure(lambda x: Spec(tuple(x.shape), str(x.dtype)), structure))
    return (args,), {}


def _learned(search: Search) -> list[int]:
    """The rank of the inputs that came nearest."""
    return [search.nearest[0].rank] if search.nearest else []


def _likeliest(search: Search) -> Layout | None:
    """The likeliest inputs of a layer whose fault is its own; None where the fault may be in the inputs."""
    failures = [failure for _, failure in search.failures]
    view = search.view
    if view.cls.__module__.split(".")[0] == "keras" or not failures:
        return None
    if not (search.stuck or own_fault(failures) or view.wraps_cell or view.mixes_literals):
        return None
    return search.failures[0][0]


def _not_fed(cls: type, search: Search, plan: Plan | None) -> Problem:
    nearest = search.nearest[1] if search.nearest else None
    at = nearest.at if nearest else None
    arguments = plan.arguments + ", " if plan is not None and plan.texts else ""
    count = len(search.tries)
    said = f"the one that came nearest raised {nearest.summary}" if nearest else "none was taken"
    return Problem(
        "not-fed",
        f"No inputs were found that `{cls.__name__}` takes: of {count} kinds, {said}.",
        f"write `@lw.example({arguments}inputs=lw.Spec((None, {OPEN_AXIS}, 8)))` above the class, with its own shape.",
        at.path if at else None,
        at.line if at else None,
    )
