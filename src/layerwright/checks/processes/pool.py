"""Runs targets in worker processes that may crash, hang or eat all memory, and says what became of each subject."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import sys
import threading
from collections.abc import Callable, Generator, Mapping, Sequence
from types import TracebackType
from typing import Literal

from layerwright.checks.processes import reload, watch
from layerwright.checks.processes.assignment import Assignment
from layerwright.checks.processes.limits import Limits
from layerwright.checks.processes.messages import Message
from layerwright.checks.processes.process import Child, Ended, WorkerError
from layerwright.checks.report import Report
from layerwright.checks.subject import Spec
from layerwright.checks.targets import Target

__all__ = ["Event", "Limits", "Pool"]
WORKER = "layerwright.checks.processes.worker"
RELOADING = "reload-differs"


@dataclasses.dataclass(frozen=True)
class Event:
    """What a pool is doing, for whoever shows the progress.

    Attributes:
        kind: `"loading"` (the target is imported), `"announced"` (its subjects are known), `"checking"` (a subject
            begins) or `"covered"` (a class isn't checked by itself, because an example stands for it). The end of
            a subject is the report that `run` yields.
        target: The target that is worked on.
        subject: Its name, where a subject begins or is covered.
        total: How many subjects the target has, once they are announced.
        remarks: What was said about the loading of the target (once announced).
    """

    kind: Literal["loading", "announced", "checking", "covered"]
    target: Target
    subject: str | None = None
    total: int = 0
    remarks: tuple[str, ...] = ()


class Pool:
    """Worker processes for one backend, one a target, with the next one started ahead.

    Args:
        backend: The framework that the workers run on.
        limits: What a subject may use.
        rules: The names of the rules to run; all where it is None.
        allow: Rules whose findings are intended, each with the reason.
        inputs: What every subject is called with, instead of what is guessed.
        program: The module that a worker runs.

    Example:
        >>> with Pool("jax") as pool:  # doctest: +SKIP
        ...     for report in pool.run(expand(["layers.py"])):
        ...         print(report)
    """

    def __init__(
        self,
        backend: str,
        limits: Limits | None = None,
        rules: Sequence[str] | None = None,
        allow: Mapping[str, str] | None = None,
        inputs: Sequence[Spec] = (),
        program: str = WORKER,
    ) -> None:
        self.backend, self.limits = backend, limits or Limits()
        self._rules, self._allow, self._inputs = rules, dict(allow or {}), tuple(inputs)
        self._program = program
        # Saved layers are loaded in a process of its own, whose start takes as long as a worker's.
        self._reloads = program == WORKER and (rules is None or RELOADING in rules) and (os.cpu_count() or 1) > 1
        self._ahead: Child | None = None

    def __enter__(self) -> Pool:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.close()

    def run(
        self, targets: Sequence[Target], on_event: Callable[[Event], None] | None = None
    ) -> Generator[Report, None, None]:
        """Check every subject of the targets, and yield a report for each as soon as it is there.

        A subject that takes its worker with it gets a report that says so, and the others are checked by a new worker.

        Args:
            targets: What to check.
            on_event: Called with what is being done.

        Raises:
            WorkerError: Where no worker can be started at all.
        """
        tell = on_event or _nothing
        try:
            if self._reloads:
                reload.warm(self.backend)
            for place, target in enumerate(targets):
                tell(Event("loading", target))
                yield from self._assignment(target, place + 1 < len(targets), tell).run(self._take)
        finally:
            self.close()

    def close(self) -> None:
        """End the worker that was started ahead, and the process for reloading."""
        if self._ahead is not None:
            self._ahead.kill()
            self._ahead = None
        reload.close(self.backend)

    def _assignment(self, target: Target, more: bool, tell: Callable[[Event], None]) -> Assignment:
        made = Assignment(target, self._job(target), self.limits, self._answer)
        made.idle = lambda one: self._start_ahead() if more or one.slow else None
        made.tell = lambda kind, subject=None: tell(Event(kind, target, subject, len(made.subjects), made.remarks))
        return made

    def _job(self, target: Target) -> Message:
        return {
            "backend": self.backend,
            "target": dataclasses.asdict(target),
            "rules": None if self._rules is None else list(self._rules),
            "allow": self._allow,
            "inputs": [dataclasses.asdict(spec) for spec in self._inputs],
            "seconds": self.limits.seconds,
            "paths": [os.getcwd(), *(os.path.abspath(path) for path in sys.path if path)],
        }

    def _take(self) -> Child:
        child, self._ahead = self._ahead, None
        if child is not None:
            with contextlib.suppress(Ended):
                return watch.ready(child)
            child.kill()
        return watch.ready(self._launch())

    def _launch(self) -> Child:
        return Child(self._program, self.backend, self.limits.output)

    def _start_ahead(self) -> None:
        # Not while the process for reloading starts: the current subject waits for that one.
        if self._ahead is None and not reload.starting(self.backend):
            with contextlib.suppress(WorkerError):
                self._ahead = self._launch()

    def _answer(self, child: Child, message: Message, go_on: Callable[[], None]) -> None:
        """Do what a worker asks for, without keeping the watch over it waiting."""
        if message.get("event") == "warm":
            reload.warm(self.backend)
        elif message.get("event") == "reload":
            threading.Thread(target=reload.answer, args=(child, message, self.limits, go_on), daemon=True).start()


def _nothing(*_: object) -> None:
    return None
