"""What a worker process uses of the rest of layerwright: loading, guessing and running."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping, Sequence
from typing import Any

from layerwright.checks.processes import messages
from layerwright.checks.processes.channel import Channel
from layerwright.checks.report import Problem, Report
from layerwright.checks.subject import Spec, Subject
from layerwright.checks.targets import Target


class Real:
    """Loads targets and runs rules; everything heavy is imported by `warm`."""

    def warm(self, channel: Channel) -> None:
        """Import Keras and all rules, and use what is slow when it is used first: saving, loading, fitting."""
        from layerwright.checks import engines, examples, loading, rule, runner
        from layerwright.checks.loading import given
        from layerwright.checks.processes import elsewhere, reload, tampering, warmup

        self._loading, self._given, self._examples, self._runner = loading, given, examples, runner
        engines.current()
        self._rules = rule.load()
        warmup.warm_up()
        self._seal = tampering.Seal()
        reload.ask_through(channel)
        self._elsewhere = elsewhere.load

    def load(self, target: Target) -> tuple[Sequence[Any], Sequence[str]]:
        """The subjects of a target, examples by functions first, and remarks on how it was loaded."""
        if target.kind == "model":
            everything = self._loading.load_model(target.location)
            return [one for one in everything if not target.only or one.name in target.only], ()
        loaded = (
            self._loading.load_file(target.location)
            if target.kind == "file"
            else self._loading.load_module(target.location, target.root)
        )
        found = self._loading.subjects_in(loaded, target.only)
        wanted = [one for one in found if one.skipped is None or target.only]
        bases = [one.skipped for one in found if one.skipped is not None and not target.only]
        return sorted(wanted, key=self._is_guess), (*loaded.remarks, *bases)

    def build(self, found: Any, job: Mapping[str, Any]) -> Subject | Report:
        """What was found, as a subject; a report with the reason where it can't be built or fed."""
        from layerwright.checks.guess import CannotGuess

        specs = [Spec(**{**spec, "shape": tuple(spec["shape"])}) for spec in job["inputs"]]
        try:
            subject = self._given.subject_with(found, specs)
        except CannotGuess as failed:
            return Report(found.name, job["backend"], problem=failed.problem, path=found.path, line=found.line)
        return dataclasses.replace(subject, name=found.name)

    def covers(self, subject: Subject, other: Any) -> bool:
        """Whether an example stands for a class."""
        return isinstance(other.what, type) and subject.cls is other.what

    def check(self, subject: Subject, job: Mapping[str, Any]) -> Report:
        """Run the rules."""
        names = self._rules if job["rules"] is None else job["rules"]
        return self._runner.run(subject, [self._rules[name] for name in names], job["allow"], self._elsewhere)

    def spoiled(self) -> str | None:
        """What the user's code changed in Keras or the builtins."""
        return self._seal.broken()

    def explain(self, error: BaseException, path: str | None) -> Problem:
        """What was raised outside every probe: by the import, or by something that no probe expected."""
        from layerwright.checks.attempt import foreign, frames_of

        problem = getattr(error, "problem", None)
        if isinstance(problem, Problem):
            return problem
        frames = list(frames_of(error.__traceback__, lambda file: file == path))
        frames = frames or list(frames_of(error.__traceback__, lambda file: not foreign(file)))
        where = (frames[-1].path, frames[-1].line) if frames else (None, None)
        if isinstance(error, SystemExit):
            return Problem("exited", f"`sys.exit({error.code!r})` was called.", None, *where)
        return Problem("crashed", messages.summary(error), None, *where)

    def _is_guess(self, found: Any) -> bool:
        """Whether this isn't an example by a function: those come first, because they stand for their class."""
        what = found.what
        return not (isinstance(what, self._examples.Example) and not isinstance(what.target, type))
