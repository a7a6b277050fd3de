"""Reports put together: equal findings merged, subjects counted, the exit code."""

from __future__ import annotations

import dataclasses
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any, Generic, TypeVar

from layerwright.checks.report import SEVERITIES, Finding, Problem, Report, rank

Item = TypeVar("Item", Finding, Problem)


@dataclasses.dataclass(frozen=True)
class Entry(Generic[Item]):
    """A finding or a problem as it is shown: once, with everything that has it named.

    Attributes:
        item: The finding (the worst of the equal ones) or the problem.
        path, line: Where it is shown: its own place, else that of its subject.
        subjects, backends: Every subject and backend that has it, in the order in which they were checked.
    """

    item: Item
    path: str | None
    line: int | None
    subjects: tuple[str, ...]
    backends: tuple[str, ...]


@dataclasses.dataclass(frozen=True)
class Summary:
    """How many subjects and findings there are; what the last line of the text says, and `summary` in JSON.

    Attributes:
        subjects: How many were found; one that was checked on several backends counts once.
        passed: Those without errors, warnings and problems, on every backend.
        failed: Those with an error or a warning.
        unchecked: The others: they could not be checked, or only in part.
        problems: By kind, the subjects that have such a problem.
        findings: By severity, how many; equal ones of several subjects or backends count once.
        withheld: How many findings are not shown beside the others.
        rules: By status, how many runs of a rule on a subject ended so.
        seconds: How long everything took.
    """

    subjects: int
    passed: int
    failed: int
    unchecked: int
    problems: dict[str, list[str]]
    findings: dict[str, int]
    withheld: int
    rules: dict[str, int]
    seconds: float

    def to_dict(self) -> dict[str, Any]:
        """Plain data for JSON."""
        return dataclasses.asdict(self)


def findings(reports: Iterable[Report]) -> list[Entry[Finding]]:
    """The findings of all reports, equal ones merged, by file and line."""
    return _merged(((r, f) for r in reports for f in r.findings), _identity)


def withheld(reports: Iterable[Report]) -> list[Entry[Finding]]:
    """The withheld findings of all reports, equal ones merged, by file and line."""
    return _merged(((r, f) for r in reports for f in r.withheld), _identity)


def problems(reports: Iterable[Report]) -> list[Entry[Problem]]:
    """The problems of all reports, equal ones merged, by file and line."""
    pairs = ((r, r.problem) for r in reports if r.problem is not None)
    return _merged(pairs, lambda p: (p.kind, p.path, p.line, p.message, p.help))


def _identity(finding: Finding) -> tuple[Any, ...]:
    return (finding.rule, finding.path, finding.line, finding.message)


def _merged(pairs: Iterable[tuple[Report, Item]], identity: Callable[[Item], tuple[Any, ...]]) -> list[Entry[Item]]:
    groups: dict[tuple[Any, ...], list[tuple[Report, Item]]] = {}
    for report, item in pairs:
        # Without a place of their own, equal sentences about two subjects are two findings.
        place = None if item.path else (report.path, report.line, report.subject)
        groups.setdefault((identity(item), place), []).append((report, item))
    return sorted((_entry(group) for group in groups.values()), key=_order)


def _entry(group: Sequence[tuple[Report, Item]]) -> Entry[Item]:
    report, item = min(group, key=lambda pair: _severity(pair[1]))
    path, line = (item.path, item.line) if item.path else (report.path, report.line)
    return Entry(
        item,
        path,
        line,
        tuple(dict.fromkeys(r.subject for r, _ in group)),
        tuple(dict.fromkeys(r.backend for r, _ in group)),
    )


def _severity(item: Finding | Problem) -> int:
    return rank(item.severity) if isinstance(item, Finding) else 0


def _order(entry: Entry[Item]) -> tuple[Any, ...]:
    item = entry.item
    name = item.code if isinstance(item, Finding) else item.kind
    return (entry.path is None, entry.path or "", entry.line or 0, _severity(item), name, item.message)


def summarise(reports: Sequence[Report], seconds: float) -> Summary:
    """Count the subjects by how they went, and the findings by severity."""
    by_subject: dict[tuple[Any, ...], list[Report]] = {}
    for report in reports:
        by_subject.setdefault((report.path, report.line, report.subject), []).append(report)
    states = Counter(_state(group) for group in by_subject.values())
    severities = Counter(entry.item.severity for entry in findings(reports))
    statuses = Counter(o.status for r in reports for o in r.outcomes)
    return Summary(
        subjects=len(by_subject),
        passed=states["passed"],
        failed=states["failed"],
        unchecked=states["unchecked"],
        problems=_by_kind(reports),
        findings={severity: severities[severity] for severity in SEVERITIES},
        withheld=len(withheld(reports)),
        rules={status: statuses[status] for status in ("passed", "failed", "skipped", "withheld")},
        seconds=round(seconds, 3),
    )


def _state(group: Iterable[Report]) -> str:
    group = list(group)
    if any(r.worst in ("error", "warning") for r in group):
        return "failed"
    return "passed" if all(r.problem is None for r in group) else "unchecked"


def _by_kind(reports: Iterable[Report]) -> dict[str, list[str]]:
    kinds: dict[str, list[str]] = {}
    for report in reports:
        if report.problem is not None:
            names = kinds.setdefault(report.problem.kind, [])
            if report.subject not in names:
                names.append(report.subject)
    return dict(sorted(kinds.items()))


def exit_code(reports: Iterable[Report], *, strict: bool = False) -> int:
    """0 where nothing is wrong, 1 where something is.

    Wrong are errors, warnings, a subject that took its process with it, and one whose call raises on the
    inputs it was given; with `strict` also notes, and subjects that could not be built or fed.
    """
    return int(any(_wrong(report, strict) for report in reports))


def _wrong(report: Report, strict: bool) -> bool:
    problem = report.problem
    if report.worst in ("error", "warning") or (problem and (problem.fatal or problem.kind == "call-failed")):
        return True
    return strict and bool(report.findings or report.withheld or problem)
