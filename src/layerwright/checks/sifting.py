"""Which findings stand for themselves, and which wait: symptoms of a cause that was found, and general advice."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from layerwright.checks.report import Finding, Outcome
from layerwright.checks.rule import Rule


def sift(raised: Sequence[Finding], rules: Mapping[str, Rule]) -> tuple[list[Finding], list[Finding]]:
    """Part the findings to show from the symptoms of others and from advice that can wait."""
    unique = list({(f.rule, f.path, f.line, f.message): f for f in raised}.values())
    hidden_names = {name for f in unique for name in rules[f.rule].hides}
    causes = [f for f in unique if f.rule not in hidden_names]
    serious = any(f.severity != "note" for f in causes)
    shown = [f for f in causes if not (serious and rules[f.rule].advice and f.severity == "note")]
    return shown, [f for f in unique if f not in shown]


def withheld(outcome: Outcome, shown: Sequence[Finding]) -> Outcome:
    """An outcome as it is reported, once it is known which findings are shown."""
    if outcome.status != "failed" or any(f.rule == outcome.rule for f in shown):
        return outcome
    return Outcome(
        outcome.rule, "withheld", "a cause that was found explains it, or it is advice that can wait", outcome.seconds
    )
