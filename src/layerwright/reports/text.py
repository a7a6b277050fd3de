"""Reports as text that a person reads in seconds: one block a finding, then what was counted."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from layerwright.checks.report import Finding, Problem, Report
from layerwright.reports import summary, totals
from layerwright.reports.console import place, prose, safe, wrapped, write
from layerwright.reports.source import excerpt
from layerwright.reports.summary import Entry
from layerwright.reports.words import STYLES, kind, listed

if TYPE_CHECKING:
    from rich.console import Console
    from rich.text import Text


Loading = Mapping[str, Sequence[str]]


def show(
    on: Console, reports: Sequence[Report], *, seconds: float, notes: bool = False, loading: Loading | None = None
) -> None:
    """Write everything about the reports: findings, problems, what is withheld, remarks, the counts.

    Args:
        on: Where to write; its width and its colours are respected.
        reports: One for each subject and backend.
        seconds: How long everything took.
        notes: Whether withheld findings are shown too.
        loading: What was said about the loading of each file or module.
    """
    for number, block in enumerate(blocks(on, reports, seconds=seconds, notes=notes, loading=loading)):
        write(on, ["", *block] if number else block)


def blocks(
    on: Console, reports: Sequence[Report], *, seconds: float, notes: bool = False, loading: Loading | None = None
) -> Iterator[list[Text]]:
    """The paragraphs of the text, each as its lines."""
    backends = list(dict.fromkeys(report.backend for report in reports if report.backend))
    for entry in summary.findings(reports):
        yield finding_block(on, entry, backends)
    for entry in summary.withheld(reports) if notes else ():
        yield finding_block(on, entry, backends, " (withheld)")
    for problem in summary.problems(reports):
        yield problem_block(on, problem, backends)
    said = loading or {}
    asides = [] if notes else list(totals.withheld(reports))
    asides += [*totals.undecided(reports), *totals.loading(said), *totals.built(reports, said)]
    if asides:
        yield [line for aside in asides for line in wrapped(on, aside, "", "  ")]
    yield list(wrapped(on, totals.line(summary.summarise(reports, seconds), backends)))


def finding_block(on: Console, entry: Entry[Finding], backends: Sequence[str], aside: str = "") -> list[Text]:
    """One finding: its place and name, the line of source, the sentence, the slots."""
    finding = entry.item
    title = f"{finding.code} {finding.rule}  {finding.severity}{aside}"
    slots = {"Expected": finding.expected, "Got": finding.got, "Fix": finding.fix}
    return _block(on, entry, title, STYLES[finding.severity], slots, backends)


def problem_block(on: Console, entry: Entry[Problem], backends: Sequence[str]) -> list[Text]:
    """One subject that could not be checked, and the line of code that would help."""
    problem = entry.item
    style = STYLES["error" if problem.fatal or problem.kind == "call-failed" else "warning"]
    return _block(on, entry, kind(problem.kind), style, {"Fix": problem.help}, backends)


def _block(
    on: Console,
    entry: Entry[Finding] | Entry[Problem],
    title: str,
    style: str,
    slots: Mapping[str, str | None],
    backends: Sequence[str],
) -> list[Text]:
    lines = [*wrapped(on, _head(entry, title, style, backends), "", "    "), *_source(on, entry, style)]
    lines += wrapped(on, prose(entry.item.message), "  ")
    for name, text in slots.items():
        if text:
            lines += wrapped(on, prose(text), f"  {name + ':':<9} ")
    return lines


def _head(entry: Entry[Finding] | Entry[Problem], title: str, style: str, backends: Sequence[str]) -> Text:
    from rich.text import Text

    where = place(entry.path, entry.line)
    seen = [name for name in entry.backends if name]
    only = f" on {', '.join(seen)}" if seen and len(seen) < len(backends) else ""
    named = safe(listed(entry.subjects)) + only
    return Text.assemble((where, "bold"), "  " * bool(where), (safe(title), style), "  ", named)


def _source(on: Console, entry: Entry[Finding] | Entry[Problem], style: str) -> Iterator[Text]:
    from rich.cells import cell_len
    from rich.text import Text

    names = " ".join(f"`{name}`" for name in entry.subjects)
    found = excerpt(entry.path, entry.line, f"{entry.item.message} {names}")
    if found is None:
        return
    gutter = f"  {found.number:>4} | "
    shown = found.cropped(on.width - len(gutter))
    before, marked = safe(shown.text[: shown.start]), safe(shown.text[shown.start : shown.end])
    yield Text.assemble((gutter, STYLES["code"]), safe(shown.text))
    bar = " " * (len(gutter) - 2) + "| "
    yield Text.assemble((bar, STYLES["code"]), " " * cell_len(before), ("^" * (cell_len(marked) or 1), style))
