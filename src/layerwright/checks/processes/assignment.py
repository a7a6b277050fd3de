"""One target and the workers that it takes: one where all goes well, a further one after each loss."""

from __future__ import annotations

import dataclasses
import math
import time
from collections.abc import Callable, Iterator
from pathlib import PurePath
from typing import Any

from layerwright.checks.processes import watch
from layerwright.checks.processes.limits import Limits, Loss
from layerwright.checks.processes.messages import Message
from layerwright.checks.processes.process import Child, Ended
from layerwright.checks.report import Problem, Report
from layerwright.checks.targets import Target

SLOW_SECONDS = 10.0
Answer = Callable[[Child, Message, Callable[[], None]], None]


class Lost(Exception):
    """The worker is lost, or is to be stopped; the loss says how."""

    def __init__(self, loss: Loss) -> None:
        super().__init__(loss.what)
        self.loss = loss


@dataclasses.dataclass(frozen=True)
class Announced:
    """A subject that a worker found in its target.

    Attributes:
        key: What tells it from the target's others, the same in every worker.
        name, path, line: What it is called and where it stands.
    """

    key: str
    name: str
    path: str | None = None
    line: int | None = None


class Assignment:
    """Everything that is known of one target while workers check it.

    Args:
        target: What is checked.
        job: What a worker is told.
        allowed: What a subject may use.
        answer: Called with a worker, what it asks for, and what to call when the answer is there.

    Attributes:
        subjects: The target's subjects, once announced.
        remarks: What was said about its loading.
        idle: Called with this assignment now and then while a worker works.
        tell: Called with the kind of an event, and a subject's name.
    """

    def __init__(self, target: Target, job: Message, allowed: Limits, answer: Answer) -> None:
        self.target, self._job, self._allowed, self._answer = target, job, allowed, answer
        self.subjects: list[Announced] = []
        self.remarks: tuple[str, ...] = ()
        self.idle: Callable[[Assignment], None] = lambda _: None
        self.tell: Callable[..., None] = lambda *_: None
        self._done: set[str] = set()
        self._announced = self._loading = False
        self._running: Announced | None = None
        self._begun = self._deadline = 0.0

    def run(self, take: Callable[[], Child]) -> Iterator[Report]:
        """Yield a report for every subject, with as many workers as that takes."""
        over = False
        while not over:
            before = len(self._done)
            worker = take()
            try:
                yield from self._watch(worker)
                over = True
            except Lost as lost:
                loss = lost.loss
            finally:
                worker.kill()
            if not over:
                yield from self._charge(loss, progress=len(self._done) > before)
                over = not self._left()

    @property
    def slow(self) -> bool:
        """Whether the running subject may well take its worker with it, and others wait."""
        return time.monotonic() > self._begun + SLOW_SECONDS and len(self._left()) > 1

    def _left(self) -> list[Announced]:
        return [s for s in self.subjects if s.key not in self._done]

    def _watch(self, worker: Child) -> Iterator[Report]:
        self._loading, self._running = True, None
        self._wind_up()
        worker.send({**self._job, "done": sorted(self._done)})
        while (message := self._next(worker)).get("event") != "done":
            match message.get("event"):
                case "announced":
                    self._announce(message)
                case "import-failed":
                    yield from self._import_failed(Problem(**message["problem"]))
                    return
                case "checking" | "covered" as kind:
                    self._begin(kind, message["key"])
                case "report":
                    self._done.add(message["key"])
                    self._running = None
                    self._wind_up()
                    yield Report.from_dict(message["report"])
                case "reload":
                    self._answer(worker, message, self._stand_still())
                case _:
                    self._answer(worker, message, lambda: None)

    def _stand_still(self) -> Callable[[], None]:
        """Stop the clock, because the other process has limits of its own; what is returned lets it go on."""
        left, begun = self._deadline - time.monotonic(), self._begun
        self._deadline = math.inf

        def go_on() -> None:
            if self._begun == begun:  # else the worker was lost meanwhile
                self._deadline = time.monotonic() + left

        return go_on

    def _wind_up(self) -> None:
        self._begun = time.monotonic()
        self._deadline = self._begun + self._allowed.seconds

    def _announce(self, message: Message) -> None:
        self._loading = False
        self._wind_up()
        if not self._announced:
            self._announced = True
            self.subjects = [Announced(**subject) for subject in message["subjects"]]
            self.remarks = tuple(message["remarks"])
            self.tell("announced")

    def _begin(self, kind: str, key: str) -> None:
        subject = next((s for s in self.subjects if s.key == key), None)
        if subject is None:
            return
        if kind == "covered":
            self._done.add(key)
        else:
            self._running = subject
        self._wind_up()
        self.tell(kind, subject.name)

    def _next(self, worker: Child) -> Message:
        while True:
            try:
                message = worker.receive(watch.TICK)
            except Ended:
                raise Lost(watch.ended(worker)) from None
            if message is not None:
                return message
            self.idle(self)
            loss = watch.exceeded(worker, self._allowed, self._deadline)
            if loss is not None:
                raise Lost(loss)

    def _charge(self, loss: Loss, progress: bool) -> Iterator[Report]:
        """Say whose loss it was: the running subject's, else the file's."""
        if not self._announced:
            yield from self._import_failed(self._import_problem(loss))
        elif self._running is not None:
            yield self._lost(self._running, self._problem(loss, self._running))
        elif self._loading:
            yield from self._import_failed(self._import_problem(loss))
        elif not progress and self._left():
            # Lost between two subjects, and nothing came of this worker: go on, but not for ever.
            subject = self._left()[0]
            yield self._lost(subject, self._problem(loss, subject))

    def _problem(self, loss: Loss, subject: Announced) -> Problem:
        return loss.problem(f"`{subject.name}`", subject.path, subject.line)

    def _import_problem(self, loss: Loss) -> Problem:
        path = self.target.location if self.target.kind == "file" else None
        return loss.problem(f"The import of `{self.name}`", path, None, importing=True)

    def _import_failed(self, problem: Problem) -> Iterator[Report]:
        """One report for the file; for each subject that is left, where it could be imported before."""
        if not self._announced:
            yield self._report(self.name, problem, problem.path, problem.line)
        for subject in self._left():
            yield self._lost(subject, problem)

    def _lost(self, subject: Announced, problem: Problem) -> Report:
        self._done.add(subject.key)
        return self._report(subject.name, problem, subject.path, subject.line)

    def _report(self, name: str, problem: Problem, path: str | None, line: int | None) -> Report:
        seconds = time.monotonic() - self._begun
        backend: Any = self._job["backend"]
        return Report(name, backend, problem=problem, path=path, line=line, seconds=seconds)

    @property
    def name(self) -> str:
        """How the target is called in a sentence: a file by its name, a module by its dotted one."""
        return self.target.location if self.target.kind == "module" else PurePath(self.target.location).name
