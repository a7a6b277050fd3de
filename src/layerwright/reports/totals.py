"""The last lines of the text: what is withheld, how the files were run, what was counted."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING

from layerwright.checks.report import SEVERITIES, Finding, Outcome, Report
from layerwright.reports import summary
from layerwright.reports.console import place, prose, safe
from layerwright.reports.summary import Summary
from layerwright.reports.words import NAMED, STYLES, counted, kind, listed

if TYPE_CHECKING:
    from rich.text import Text

LONGEST_REASON = 90


def withheld(reports: Sequence[Report]) -> Iterator[Text]:
    """One sentence for the notes that wait, one for the symptoms of what was found."""
    hidden = [entry.item for entry in summary.withheld(reports)]
    advice = [finding for finding in hidden if finding.severity == "note"]
    symptoms = [finding for finding in hidden if finding.severity != "note"]
    if advice:
        be, them = ("is", "it") if len(advice) == 1 else ("are", "them")
        said = f"{counted(len(advice), 'note')} of general advice {be} withheld until the {_faults(reports)} are fixed"
        yield prose(f"{said}: {_rules(advice)} (--notes shows {them}).")
    if symptoms:
        be, them = ("is", "it") if len(symptoms) == 1 else ("are", "them")
        said = f"{counted(len(symptoms), 'symptom')} of these faults {be} not shown"
        yield prose(f"{said}: {_rules(symptoms)} (--notes shows {them}).")


def _faults(reports: Iterable[Report]) -> str:
    seen = {finding.severity for report in reports for finding in report.findings}
    return " and ".join(f"{severity}s" for severity in ("error", "warning") if severity in seen) or "problems"


def _rules(findings: Iterable[Finding]) -> str:
    counts = Counter(finding.rule for finding in findings)
    names = sorted(counts, key=lambda rule: (-counts[rule], rule))
    return listed([rule if counts[rule] == 1 else f"{rule} ({counts[rule]})" for rule in names])


def undecided(reports: Iterable[Report]) -> Iterator[Text]:
    """One sentence for the rules that were skipped on subjects which could be checked, with the commonest reasons."""
    whole = [report for report in reports if report.problem is None]
    skipped = [o for r in whole for o in r.outcomes if o.status == "skipped" and not _elsewhere(o)]
    if skipped:
        ran = sum(len(report.outcomes) for report in whole)
        reasons = Counter(_reason(outcome) for outcome in skipped)
        # That a rule itself failed must not be hidden behind "and 3 more".
        common = sorted(reasons, key=lambda reason: (not reason.startswith("the rule failed"), -reasons[reason]))
        why = [f"{reason} ({reasons[reason]})" if reasons[reason] > 1 else reason for reason in common]
        be = "was" if len(skipped) == 1 else "were"
        yield prose(
            f"{len(skipped)} of {counted(ran, 'rule run')} {be} skipped: {listed(why, 3, '; ')}.", STYLES["code"]
        )


def _reason(outcome: Outcome) -> str:
    first = (outcome.reason or "no reason is known").splitlines()[0].rstrip(".")
    return first if len(first) <= LONGEST_REASON else first[: LONGEST_REASON - 3] + "..."


def _elsewhere(outcome: Outcome) -> bool:
    """Whether a rule is for other backends only: nothing that a reader could change."""
    return (outcome.reason or "").startswith("shows on ")


def loading(said: Mapping[str, Sequence[str]]) -> Iterator[Text]:
    """How the files were run, where only a part of them was."""
    for name, remarks in said.items():
        for remark in remarks:
            yield prose(f"{place(name, None)}: {remark}", STYLES["code"])


def built(reports: Iterable[Report], said: Mapping[str, Sequence[str]]) -> Iterator[Text]:
    """How the subjects were built that have findings or a problem: a guess may be what is strange."""
    of_files = {remark for remarks in said.values() for remark in remarks}
    shown: dict[str, None] = {}
    for report in reports:
        for remark in report.remarks if report.findings or report.problem else ():
            if remark not in of_files:
                shown[remark if report.subject in remark else f"{report.subject}: {remark}"] = None
    for remark in list(shown)[:NAMED]:
        yield prose(remark, STYLES["code"])
    if len(shown) > NAMED:
        yield prose(f"{counted(len(shown) - NAMED, 'more remark')} of this kind: see --format json.", STYLES["code"])


def line(counts: Summary, backends: Sequence[str]) -> Text:
    """What was checked, how it went, what was found, how long it took."""
    from rich.text import Text

    states = [(f"{counts.passed} passed", STYLES["good"] if counts.passed else "")]
    states += [(f"{counts.failed} failed", STYLES["error"])] if counts.failed else []
    states += [(f"{counts.unchecked} could not be checked", STYLES["warning"])] if counts.unchecked else []
    found = [(counted(counts.findings[s], s), STYLES[s]) for s in SEVERITIES if counts.findings[s]]
    comma = Text(", ")
    return Text.assemble(
        counted(counts.subjects, "subject"),
        f" on {', '.join(backends)}: " if backends else ": ",
        comma.join(Text(*state) for state in states),
        f"{_why(counts)}; ",
        comma.join(Text(*part) for part in found) if found else "no findings",
        f"; {counts.seconds:.1f} s.",
    )


def _why(counts: Summary) -> str:
    parts = [f"{listed(names, 3)} {kind(name)}" for name, names in counts.problems.items()]
    return safe(f" ({'; '.join(parts)})") if parts else ""
