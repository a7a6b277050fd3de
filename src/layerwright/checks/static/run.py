"""Checking one file by its source: a report for each of its layers and models."""

from __future__ import annotations

import time
from collections.abc import Iterator, Sequence
from pathlib import Path

from layerwright.checks.report import Finding, Outcome, Problem, Report, Status, rank
from layerwright.checks.rule import Rule
from layerwright.checks.sifting import sift, withheld
from layerwright.checks.static.detector import DETECTORS, Fault
from layerwright.checks.static.files import SourceFile
from layerwright.checks.static.view import ClassView, views
from layerwright.errors import SourceError


def check_file(path: Path, rules: Sequence[Rule]) -> list[Report]:
    """Check every layer and model that a file defines, without importing or running anything.

    A file that can't be read, or isn't Python, gets one report with the problem.

    Args:
        path: The file.
        rules: The rules to run; those without a detector are left out.
    """
    try:
        file = SourceFile(path)
    except SourceError as error:
        line = error.where.rpartition(":")[2] if error.where else ""
        help_ = error.fix if error.got is None else f"correct it: {error.got}."
        return [_unread(path, error.message, help_, int(line) if line.isdecimal() else None)]
    except OSError as error:
        return [
            _unread(path, f"`{path.name}` can't be read: {error.strerror or error}.", "name a file that can be read.")
        ]
    return [_check(view, rules) for view in views(file) if view.is_layer]


def _unread(path: Path, message: str, help_: str | None, line: int | None = None) -> Report:
    problem = Problem("not-read", message, help_, str(path), line)
    return Report(path.name, "", problem=problem, path=str(path), line=line)


def _check(view: ClassView, rules: Sequence[Rule]) -> Report:
    started = time.perf_counter()
    results = [_one(view, rule) for rule in rules if rule.name in DETECTORS]
    shown, hidden = sift([f for found, _ in results for f in found], {rule.name: rule for rule in rules})
    return Report(
        view.name,
        "",
        tuple(sorted(shown, key=lambda f: (rank(f.severity), f.line or 0, f.code))),
        tuple(hidden),
        tuple(withheld(outcome, shown) for _, outcome in results),
        None,
        (),
        str(view.file.path),
        view.node.lineno,
        time.perf_counter() - started,
    )


def _one(view: ClassView, rule: Rule) -> tuple[list[Finding], Outcome]:
    started = time.perf_counter()
    found: list[Finding] = []
    status: Status = "passed"
    reason: str | None = None
    frameworks = view.file.frameworks
    if rule.backends and frameworks and not frameworks & set(rule.backends):
        status, reason = "skipped", f"shows on {', '.join(rule.backends)} only"
    else:
        try:
            found = list(_findings(view, rule))
            status = "failed" if found else "passed"
        except Exception as error:
            # A detector that stumbles over an odd source must not take the others with it; that it did is said.
            status, reason = "skipped", f"the rule failed on this source: {type(error).__name__}: {error}"
    return found, Outcome(rule.name, status, reason, time.perf_counter() - started)


def _findings(view: ClassView, rule: Rule) -> Iterator[Finding]:
    for fault in DETECTORS[rule.name](view):
        yield _finding(view, rule, fault)


def _finding(view: ClassView, rule: Rule, fault: Fault) -> Finding:
    return Finding(
        rule.name,
        rule.code,
        fault.severity or rule.severity,
        fault.message,
        fault.expected,
        fault.got,
        fault.fix,
        str(view.file.path),
        fault.at.lineno,
        view.name,
    )
