"""Reports as a check would make them, and a pool that yields them: for tests of what is shown."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

from layerwright.checks.processes.limits import Limits
from layerwright.checks.processes.pool import Event
from layerwright.checks.report import Finding, Outcome, Problem, Report
from layerwright.checks.targets import Target

SOURCE = """\
import keras
from keras import ops


class LeakyScale(keras.layers.Layer):
    def __init__(self, gain, slope=0.1, **kwargs):
        super().__init__(**kwargs)
        self.gain, self.slope = gain, slope

    def call(self, x):
        return ops.where(x > 0, self.gain * x, self.slope * x)  # leaky

    def get_config(self):
        return {**super().get_config(), "gain": self.gain}


class Table(keras.layers.Layer):
    def __init__(self, table):
        super().__init__()
"""


def source(folder: Path) -> str:
    """Write the file that the findings point to; its path."""
    (folder / "layers.py").write_text(SOURCE)
    return str(folder / "layers.py")


def missing_slope(path: str | None, backend: str = "jax", subject: str = "LeakyScale", **changed: Any) -> Finding:
    """A warning with all slots."""
    slots: dict[str, Any] = {
        "message": "`get_config` leaves out `slope`: a reloaded `LeakyScale` falls back to the default.",
        "expected": "the keys `gain` and `slope`",
        "got": "`gain`; after a round trip `slope` is 0.1, it was 0.3",
        "fix": 'add "slope": self.slope to the dict that `get_config` returns.',
        "path": path,
        "line": 14,
        **changed,
    }
    return Finding("config-missing-arg", "LW101", "warning", subject=subject, backend=backend, **slots)


def wrong_shape(path: str, backend: str = "jax", subject: str = "LeakyScale") -> Finding:
    """An error with a message only."""
    message = "`call` returns (2, 3)."
    return Finding("output-shape", "LW301", "error", message, path=path, line=10, subject=subject, backend=backend)


def advice(path: str, line: int = 5) -> Finding:
    """A note."""
    return Finding(
        "not-registered", "LW108", "note", f"The class of line {line} isn't registered.", path=path, line=line
    )


def symptom(path: str) -> Finding:
    """An error that another one explains."""
    return Finding("reload-differs", "LW109", "error", "The outputs differ after reloading.", path=path, line=5)


def faulty(path: str, backend: str = "jax", subject: str = "LeakyScale") -> Report:
    """A report with an error, a warning, and what is withheld beside them."""
    return Report(
        subject,
        backend,
        findings=(wrong_shape(path, backend, subject), missing_slope(path, backend, subject)),
        withheld=(advice(path), symptom(path)),
        outcomes=(
            Outcome("output-shape", "failed"),
            Outcome("config-missing-arg", "failed"),
            Outcome("loops", "passed"),
        ),
        path=path,
        line=5,
    )


def not_built(path: str) -> Report:
    """A report on a class that could not be made."""
    help = "@lw.example(table=..., inputs=lw.Spec((None, 8)))"
    problem = Problem("not-built", "No value could be guessed for the argument `table`.", help, path, 18)
    return Report(
        "Table", "jax", problem=problem, path=path, line=17, outcomes=(Outcome("loops", "skipped", "not built"),)
    )


def timed_out(path: str) -> Report:
    """A report on a subject that took its process with it."""
    problem = Problem("timed-out", "`Slow` did not end within 60 s.", "`--timeout 120` gives it more time.", path, 10)
    return Report("Slow", "jax", problem=problem, path=path, line=5)


def clean(path: str, backend: str = "jax", subject: str = "Good", **changed: Any) -> Report:
    """A report without findings."""
    return Report(subject, backend, outcomes=(Outcome("loops", "passed"),), path=path, line=1, **changed)


class StandInPool:
    """Yields prepared reports, and remembers how it was called."""

    reports: Sequence[Report | BaseException] = ()
    remarks: tuple[str, ...] = ()
    made: list[dict[str, Any]] = []  # noqa: RUF012

    def __init__(self, backend: str, limits: Limits, rules: Sequence[str], *, inputs: Sequence[Any]) -> None:
        self.backend = backend
        self.made.append({"backend": backend, "limits": limits, "rules": rules, "inputs": inputs, "closed": False})

    def __enter__(self) -> StandInPool:
        return self

    def __exit__(self, *error: object) -> None:
        self.made[-1]["closed"] = True

    def run(self, targets: Sequence[Target], on_event: Callable[[Event], None]) -> Iterator[Report]:
        """The prepared reports of this backend."""
        self.made[-1]["targets"] = [target.location for target in targets]
        on_event(Event("loading", targets[0]))
        on_event(Event("announced", targets[0], total=len(self.reports), remarks=self.remarks))
        for report in self.reports:
            if isinstance(report, BaseException):
                raise report
            if report.backend == self.backend:
                on_event(Event("checking", targets[0], report.subject))
                yield report
