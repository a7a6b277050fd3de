"""A rule: one function, one file, one docstring, from which all its documentation is made."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
import re
import textwrap
from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import cache
from typing import TYPE_CHECKING

from layerwright.checks.report import Finding, Severity
from layerwright.errors import RuleError, nearest

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab

Check = Callable[["Lab"], Iterable[Finding]]
SECTIONS = ("What it does", "Why is this bad", "Example", "Use instead", "Known limits", "Source")
OPTIONAL = ("Known limits",)
FAMILIES = {
    "config": "Config and saving",
    "build": "Build and tracking",
    "shapes": "Shapes and tracing",
    "gradients": "Gradients and numbers",
    "dtypes": "Dtypes",
    "masks": "Masks",
    "state": "Training flag, state, randomness",
    "models": "Models and cells",
}


@dataclasses.dataclass(frozen=True)
class Rule:
    """A registered rule.

    Attributes:
        name: Said as the fault, such as `config-missing-arg`; module and function share it.
        code: `LW` and three digits; the first is the family's.
        family: A key of `FAMILIES`, the folder in which the rule's file lies.
        severity: At which its findings are raised unless one says otherwise.
        hides: Rules whose findings are symptoms of this one: withheld where this one is found.
        advice: Whether it is general advice (a note), withheld while there are errors or warnings.
        backends: Where the fault can show; empty for everywhere.
        title: The docstring's first line.
        sections: The docstring's sections, by heading.
    """

    name: str
    code: str
    family: str
    severity: Severity
    hides: tuple[str, ...]
    advice: bool
    backends: tuple[str, ...]
    title: str
    sections: dict[str, str]
    check: Check

    @property
    def static(self) -> bool:
        """Whether `--static` runs it: whether there is a detector that finds the fault in the source alone."""
        from layerwright.checks.static import DETECTORS

        return self.name in DETECTORS

    def page(self) -> str:
        """The rule's page as Markdown: what `layerwright explain` prints."""
        where = f", on {', '.join(self.backends)}" if self.backends else ""
        head = f"# {self.name} ({self.code})\n\n{self.title}\n\n{FAMILIES[self.family]}: {self.severity}{where}."
        return "\n\n".join([head, *(f"## {name}\n{text}" for name, text in self.sections.items())]) + "\n"


_rules: dict[str, Rule] = {}


def rule(
    code: str,
    severity: Severity,
    *,
    hides: Iterable[str] = (),
    advice: bool = False,
    backends: Iterable[str] = (),
) -> Callable[[Check], Check]:
    """Register a generator of findings as a rule; refuse it at import where its documentation lacks a section."""

    def register(check: Check) -> Check:
        name = check.__name__.replace("_", "-")
        family = check.__module__.split(".")[-2]
        title, sections = read_page(name, inspect.getdoc(check) or "")
        taken = next((r.name for r in _rules.values() if r.code == code and r.name != name), None)
        if taken:
            raise RuleError(
                f"The code {code} of rule `{name}` belongs to `{taken}`.", fix="take the family's next free code."
            )
        _rules[name] = Rule(name, code, family, severity, tuple(hides), advice, tuple(backends), title, sections, check)
        return check

    return register


def read_page(name: str, text: str) -> tuple[str, dict[str, str]]:
    """Split a rule's docstring into its title and its sections; a missing section is an error."""
    title, *parts = re.split(r"^## (.+)$", text, flags=re.MULTILINE)
    sections = {
        heading.strip(): textwrap.dedent(body).strip() for heading, body in zip(parts[::2], parts[1::2], strict=True)
    }
    missing = [s for s in SECTIONS if s not in OPTIONAL and not sections.get(s)]
    unknown = [s for s in sections if s not in SECTIONS]
    if missing or unknown or not title.strip():
        raise RuleError(
            f"The documentation of rule `{name}` is incomplete.",
            expected=", ".join(f"## {s}" for s in SECTIONS),
            got=", ".join(f"## {s}" for s in sections) or "no sections",
            fix="write " + ", ".join(f"`## {s}`" for s in missing) if missing else f"remove {unknown}.",
        )
    return " ".join(title.split()), {s: sections[s] for s in SECTIONS if s in sections}


@cache
def load() -> dict[str, Rule]:
    """Every rule by name, ordered by code; imports the rules' files at the first call."""
    from layerwright.checks import rules

    for info in pkgutil.walk_packages(rules.__path__, rules.__name__ + "."):
        if not info.ispkg:
            importlib.import_module(info.name)
    return dict(sorted(_rules.items(), key=lambda item: item[1].code))


def find(word: str, known: Mapping[str, Rule] | None = None) -> Rule:
    """The rule with this name or code among those known (all that there are); a `RuleError` names the nearest ones."""
    known = load() if known is None else known
    by_code = {r.code.lower(): r for r in known.values()}
    found = known.get(word.lower()) or by_code.get(word.lower())
    if found is None:
        close = nearest(word, [*known, *by_code])
        raise RuleError(
            f"There is no rule `{word}`.",
            got=word,
            fix=f"write {' or '.join(f'`{c}`' for c in close)}." if close else "see `layerwright rules` for the list.",
        )
    return found


def select(
    chosen: Iterable[str] | None = None, ignored: Iterable[str] | None = None, known: Mapping[str, Rule] | None = None
) -> list[Rule]:
    """The rules to run: those chosen (all where none is), less those ignored. Names, codes or families."""
    known = load() if known is None else known

    def named(words: Iterable[str]) -> Iterator[str]:
        for word in words:
            members = [r.name for r in known.values() if r.family == word]
            yield from members or [find(word, known).name]

    kept = set(named(chosen)) if chosen is not None else set(known)
    kept -= set(named(ignored or ()))
    return [r for r in known.values() if r.name in kept]
