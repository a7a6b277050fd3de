"""The laboratory: every probe of one subject, each made at most once and shared by all rules.

A rule is a function of a `Lab`. It asks for what it needs (`lab.called`, `lab.saved`, ...); each is an
`Attempt`, and `attempt.get()` skips the rule, with the reason, where the probe failed.
"""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any, TypeVar

import numpy as np

from layerwright.checks import engines
from layerwright.checks.attempt import Attempt, Failure, Frame, attempt, foreign, home_of, layers_in
from layerwright.checks.facts import BASE_ARGUMENTS as BASE_ARGUMENTS
from layerwright.checks.feed import feed_of
from layerwright.checks.probes.modes import Modes
from layerwright.checks.report import Finding, Severity
from layerwright.checks.source import Function, Source
from layerwright.checks.subject import Subject
from layerwright.checks.walk import children

if TYPE_CHECKING:
    from layerwright.checks.rule import Rule

T = TypeVar("T")


@dataclasses.dataclass(frozen=True)
class Component:
    """A layer whose class the user wrote: the subject itself, or one that it holds.

    Attributes:
        path: How the subject reaches it, such as `self.cell`; `self` for the subject.
        layer: The live layer.
        source: The source of its class.
    """

    path: str
    layer: Any
    source: Source

    @property
    def name(self) -> str:
        """The class's name."""
        return type(self.layer).__name__


# Where a finding can stand.
Place = Function | Failure | Frame | tuple[Function, ast.AST] | Source | None
# The outputs of the saved layer in another process, an error's text, or None where it could not be tried.
Elsewhere = Callable[["Lab"], "list[np.ndarray] | str | None"]


class Lab(Modes):
    """Everything that is known of one subject on the running backend.

    Attributes:
        subject: What is checked.
        engine: The framework on which it runs.
        feed: What it is called with.
    """

    def __init__(self, subject: Subject, elsewhere: Elsewhere | None = None) -> None:
        self.subject = subject
        self.load_elsewhere = elsewhere
        self.engine = engines.current()
        self.feed = feed_of(subject)
        self._rule: Rule | None = None

    @property
    def backend(self) -> str:
        """The running backend."""
        return self.engine.name

    @cached_property
    def home(self) -> Callable[[str], bool]:
        """Says of a file's path whether it holds the user's own code."""
        cls = self.subject.cls or (type(self.made.value.layer) if self.made.value is not None else None)
        return home_of([cls] if cls is not None else [])

    def attempt(self, probe: Callable[[], T]) -> Attempt[T]:
        """Run something with the user's code; see `Attempt`."""
        return attempt(probe, lambda path: self.home(path) if self._knows_home else not foreign(path))

    @property
    def _knows_home(self) -> bool:
        return self.subject.cls is not None or "made" in vars(self)

    @cached_property
    def layer(self) -> Any:
        """The subject in its most advanced state: called, else constructed, else None."""
        if self.called.value is not None:
            return self.called.value.layer
        return self.made.value.layer if self.made.value is not None else None

    @cached_property
    def components(self) -> list[Component]:
        """The subject, and every layer in it (tracked or not) whose class isn't Keras' own; each class once."""
        layer = self.layer
        if layer is None:
            return self._unfinished
        found = [Component("self", layer, Source(layer, self.home))]
        classes = {type(layer)}
        for path, child in self.children:
            module = type(child).__module__.split(".")[0]
            if type(child) not in classes and module != "keras":
                classes.add(type(child))
                found.append(Component(path, child, Source(child, home_of([type(child), type(layer)]))))
        return found

    @property
    def _unfinished(self) -> list[Component]:
        """The layers whose constructor was running when it failed, so that the cause can be found in their source."""
        failure = self.made.failure
        running = layers_in(failure.error.__traceback__) if failure is not None else []
        classes = {type(layer): layer for layer in reversed(running) if type(layer).__module__.split(".")[0] != "keras"}
        home = home_of(list(classes))
        return [Component("self", layer, Source(layer, home)) for layer in reversed(list(classes.values()))]

    @cached_property
    def children(self) -> list[tuple[str, Any]]:
        """Every layer below the subject with the path by which it is reached, tracked ones and others."""
        return children(self.layer)

    @property
    def failures(self) -> Iterator[Failure]:
        """What went wrong in constructing and calling, the earliest first."""
        for probe in (self.made, self.called):
            if probe.failure is not None:
                yield probe.failure
                return

    def finding(
        self,
        message: str,
        *,
        fix: str,
        expected: str | None = None,
        got: str | None = None,
        at: Place | None = None,
        severity: Severity | None = None,
        repro: str | None = None,
    ) -> Finding:
        """A finding of the rule that runs, worded in the four slots.

        Args:
            at: Where the cause stands: a function, a node in one, a class's source, a line, or the user's innermost
                line of a failure; the subject's class where it is left out.
            severity: Where it isn't the rule's own.
        """
        rule = self._rule
        if rule is None:
            raise RuntimeError("a finding was made outside a rule")
        path, line = self.place(at)
        return Finding(
            rule.name,
            rule.code,
            severity or rule.severity,
            message,
            expected,
            got,
            fix,
            path,
            line,
            self.subject.name,
            self.backend,
            repro,
        )

    def place(self, at: Place) -> tuple[str | None, int | None]:
        """The file and line that `at` stands for."""
        if isinstance(at, Failure):
            if at.at is not None:
                return at.at.path, at.at.line
            at = None
        if isinstance(at, Frame):
            return at.path, at.line
        if isinstance(at, tuple):
            function, node = at
            return function.path, getattr(node, "lineno", function.line)
        if isinstance(at, Function | Source):
            return at.path, at.line
        if self.components:
            return self.components[0].source.path, self.components[0].source.line
        return None, None

    def arguments(self) -> Mapping[str, Any] | None:
        """The constructor's arguments of the subject by name, defaults included; None where they aren't known."""
        return self.made.get().arguments if self.made.ok else None
