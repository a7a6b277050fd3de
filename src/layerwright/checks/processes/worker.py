"""The program of a worker process: loads one target, and checks its subjects one after another."""

from __future__ import annotations

import dataclasses
import faulthandler
import os
import sys
import warnings
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Protocol

from layerwright.checks.processes import messages
from layerwright.checks.processes.channel import Channel, open_channel
from layerwright.checks.processes.messages import Message
from layerwright.checks.report import Problem, Report
from layerwright.checks.targets import Target

GRACE_SECONDS = 600.0


class Found(Protocol):
    """What a target holds: see `loading.Found`."""

    @property
    def name(self) -> str:
        """How reports call it."""

    @property
    def path(self) -> str | None:
        """The file in which it stands."""

    @property
    def line(self) -> int | None:
        """The line at which it stands."""


class Services(Protocol):
    """What a worker needs of the rest of layerwright; the tests put others in."""

    def warm(self, channel: Channel) -> None:
        """Import everything, so that the first subject doesn't wait for it."""

    def load(self, target: Target) -> tuple[Sequence[Any], Sequence[str]]:
        """The subjects of a target, and remarks on how it was loaded."""

    def build(self, found: Any, job: Mapping[str, Any]) -> Any:
        """What was found, as a subject that can be made and fed; or a report, where that can't be."""

    def covers(self, subject: Any, other: Any) -> bool:
        """Whether another of the target's subjects needn't be checked beside this one."""

    def check(self, subject: Any, job: Mapping[str, Any]) -> Report:
        """Check a subject."""

    def spoiled(self) -> str | None:
        """What the user's code changed outside of itself, so that this process can't be trusted any longer."""

    def explain(self, error: BaseException, path: str | None) -> Problem:
        """What the user's code raised, where nothing should have been raised or the import failed."""


class Worker:
    """The one job of a worker process.

    Args:
        channel: The pipes to the parent.
        services: The rest of layerwright.
        job: What the parent wants done.
    """

    def __init__(self, channel: Channel, services: Services, job: Message) -> None:
        self._channel, self._services, self._job = channel, services, job
        self._done = set(job["done"])

    def run(self) -> None:
        """Load the target and check its subjects."""
        given = self._job["target"]
        target = Target(**{**given, "only": tuple(given["only"])})
        sys.path.extend(path for path in self._job["paths"] if path not in sys.path)
        location = target.location if target.kind == "file" else None
        try:
            found, remarks = self._services.load(target)
        except BaseException as error:  # the user's file may raise anything, SystemExit and KeyboardInterrupt included
            problem = self._services.explain(error, location)
            problem = dataclasses.replace(problem, kind="import-failed", path=problem.path or location)
            self._tell("import-failed", problem=dataclasses.asdict(problem))
            return
        keyed = dict(zip(keys(found), found, strict=True))
        self._tell("announced", subjects=[_announced(key, one) for key, one in keyed.items()], remarks=list(remarks))
        for key, one in keyed.items():
            if key not in self._done:
                self._one(key, one, keyed)
        self._tell("done")

    def _one(self, key: str, found: Found, others: Mapping[str, Found]) -> None:
        self._channel.forget_stacks()
        self._tell("checking", key=key)
        # Should the parent be gone while native code runs, this C thread ends the process.
        faulthandler.dump_traceback_later(self._job["seconds"] + GRACE_SECONDS, exit=True)
        try:
            report = self._check(key, found, others)
            told = messages.plain(report.to_dict())
        except BaseException as error:
            problem = self._services.explain(error, found.path)
            report = Report(found.name, self._job["backend"], problem=problem, path=found.path, line=found.line)
            told = messages.plain(report.to_dict())
        finally:
            faulthandler.cancel_dump_traceback_later()
        changed = self._services.spoiled()
        if changed is not None:
            said = f"It changes `{changed}`, and what comes after it is checked in a new process."
            told = messages.plain(dataclasses.replace(report, remarks=(*report.remarks, said)).to_dict())
        self._tell("report", key=key, report=messages.shortened(told))
        if changed is not None:
            os._exit(0)  # the parent goes on with a new one

    def _check(self, key: str, found: Found, others: Mapping[str, Found]) -> Report:
        subject = self._services.build(found, self._job)
        if isinstance(subject, Report):
            return subject
        for other in others:
            if other != key and other not in self._done and self._services.covers(subject, others[other]):
                self._done.add(other)
                self._tell("covered", key=other)
        report = self._services.check(subject, self._job)
        return dataclasses.replace(report, path=report.path or found.path, line=report.line or found.line)

    def _tell(self, event: str, **what: Any) -> None:
        self._channel.send({"event": event, **what})


def serve(channel: Channel, services: Services) -> None:
    """Get ready, do the job that the parent sends, and wait for the end."""
    try:
        services.warm(channel)
    except BaseException as error:
        channel.send({"event": "unready", "error": messages.summary(error)})
        raise
    channel.send({"event": "ready"})
    Worker(channel, services, channel.receive()).run()
    while True:
        channel.receive()


def keys(found: Sequence[Found]) -> Iterator[str]:
    """A key for each subject: the same in every worker, also where two have one name."""
    seen: Counter[str] = Counter()
    for subject in found:
        seen[subject.name] += 1
        yield f"{subject.name}#{seen[subject.name]}"


def _announced(key: str, found: Found) -> Message:
    return {"key": key, "name": found.name, "path": found.path, "line": found.line}


def main(services: Services) -> None:
    """Take over the pipes of the parent and serve it."""
    channel = open_channel()
    warnings.simplefilter("ignore")
    serve(channel, services)


if __name__ == "__main__":
    from layerwright.checks.processes.services import Real

    main(Real())
