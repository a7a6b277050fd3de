"""The rules as a table and as JSON, and the page of one."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any

from layerwright.checks.rule import Rule
from layerwright.reports.console import prose, wrapped, write
from layerwright.reports.words import STYLES

if TYPE_CHECKING:
    from rich.console import Console

VERSION = 1
NARROW = 24
STATIC = "static"


def show(on: Console, rules: Sequence[Rule]) -> None:
    """One line a rule: code, name, severity, family, `static` where `--static` runs it, title.

    The title stands below where the line is too short for it.
    """
    from rich.text import Text

    name, severity, family = (max([len(getattr(r, a)) for r in rules] or [0]) for a in ("name", "severity", "family"))
    for rule in rules:
        head = Text.assemble(
            (rule.code, "dim"),
            (f"  {rule.name:<{name}}", "bold"),
            (f"  {rule.severity:<{severity}}", STYLES[rule.severity]),
            f"  {rule.family:<{family}}",
            (f"  {STATIC if rule.static else '':<{len(STATIC)}}  ", STYLES["code"]),
        )
        room = on.width - len(head)
        title = list(wrapped(on, prose(rule.title), " " * (len(head) if room >= NARROW else 7)))
        write(on, [head + title[0][len(head) :], *title[1:]] if room >= NARROW else [head, *title])


def document(rules: Iterable[Rule]) -> dict[str, Any]:
    """The rules as plain data; `docs/json.md` describes the fields."""
    return {"version": VERSION, "rules": [_row(rule) for rule in rules]}


def _row(rule: Rule) -> dict[str, Any]:
    return {
        "code": rule.code,
        "name": rule.name,
        "severity": rule.severity,
        "family": rule.family,
        "title": rule.title,
        "hides": list(rule.hides),
        "advice": rule.advice,
        "backends": list(rule.backends),
        "static": rule.static,
    }


def dumps(rules: Iterable[Rule]) -> str:
    """The rules as JSON."""
    return json.dumps(document(rules), indent=2) + "\n"


def explain(on: Console, rule: Rule) -> None:
    """The rule's page: rendered on a terminal, as Markdown where it is piped."""
    if on.is_terminal:
        from rich.markdown import Markdown

        on.print(Markdown(rule.page()))
    else:
        on.file.write(rule.page())
