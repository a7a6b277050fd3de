"""What a check says: findings, an outcome for every rule, and the report that holds both."""

from __future__ import annotations

import dataclasses
from typing import Any, Literal

from layerwright.errors import four_slots

Severity = Literal["error", "warning", "note"]
Status = Literal["passed", "failed", "skipped", "withheld"]
SEVERITIES: tuple[Severity, ...] = ("error", "warning", "note")


def rank(severity: Severity) -> int:
    """0 for the worst severity; the order in which findings are shown."""
    return SEVERITIES.index(severity)


@dataclasses.dataclass(frozen=True)
class Finding:
    """One fault of one subject: the cause, at the user's line, and the fix.

    Attributes:
        rule: The rule's name, such as `config-missing-arg`.
        code: The rule's code, such as `LW101`; never reused for another rule.
        severity: `"error"`, `"warning"` or `"note"`.
        message: What is wrong, in one sentence with the user's own names in backticks.
        expected, got: What should be, what is (shapes, dtypes, numbers; never whole contents).
        fix: What to write instead.
        path, line: The file and the line (counted from 1) of the cause; None where no line can be named.
        subject: The class or callable that was checked.
        backend: The backend on which it was seen.
        repro: Python lines that show the fault, where a few lines can.
    """

    rule: str
    code: str
    severity: Severity
    message: str
    expected: str | None = None
    got: str | None = None
    fix: str | None = None
    path: str | None = None
    line: int | None = None
    subject: str = ""
    backend: str = ""
    repro: str | None = None

    @property
    def where(self) -> str | None:
        """`path:line`, or as much of it as is known."""
        if self.path is None:
            return None
        return self.path if self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        head = f"{self.code} {self.rule} ({self.severity}): {self.message}"
        return four_slots(head, expected=self.expected, got=self.got, fix=self.fix, where=self.where)


@dataclasses.dataclass(frozen=True)
class Outcome:
    """How one rule went on one subject.

    Attributes:
        status: `"passed"`, `"failed"` (there are findings), `"skipped"` (it could not be decided), or
            `"withheld"` (a note of general advice that waits until the errors and warnings are gone,
            or the symptom of a cause that was found).
        reason: Why it was skipped or withheld.
        seconds: How long the rule took, with the probes that it was the first to ask for.
    """

    rule: str
    status: Status
    reason: str | None = None
    seconds: float = 0.0


@dataclasses.dataclass(frozen=True)
class Problem:
    """Why a subject could not be checked, or only in part: itself an outcome, never a silent skip.

    Attributes:
        kind: `"not-built"` (no way to construct it), `"not-fed"` (no inputs that it takes),
            `"inputs-refused"` (it takes others than those of the command line), `"call-failed"` (the inputs were
            given, the call raises), `"crashed"`, `"timed-out"`, `"out-of-memory"`, `"exited"`, `"import-failed"`
            or `"not-read"` (the source isn't Python that can be read).
        message: What happened, in one sentence.
        help: The line of code that would let it be checked.
        path, line: Where it happened in the user's code.
    """

    kind: str
    message: str
    help: str | None = None
    path: str | None = None
    line: int | None = None

    @property
    def fatal(self) -> bool:
        """Whether the subject took its process with it, or never came to be."""
        return self.kind in ("crashed", "timed-out", "out-of-memory", "exited", "import-failed", "not-read")

    @property
    def where(self) -> str | None:
        """`path:line`, or as much of it as is known."""
        return self.path if self.path is None or self.line is None else f"{self.path}:{self.line}"

    def __str__(self) -> str:
        return four_slots(f"{self.kind}: {self.message}", fix=self.help, where=self.where)


@dataclasses.dataclass(frozen=True)
class Report:
    """The result of checking one subject on one backend.

    Attributes:
        subject: Its name.
        backend: `"tensorflow"`, `"jax"` or `"torch"`.
        findings: What is wrong, the worst first.
        withheld: Findings that are not shown beside the others: symptoms of a cause that was found,
            and notes of general advice while there are errors or warnings.
        outcomes: One for every rule that was selected.
        problem: Why it could not be checked, or only in part; None where everything ran.
        remarks: What a reader should know of how it was checked (how it was built, what was guessed).
        path, line: Where the subject is defined.
        seconds: How long it took.
    """

    subject: str
    backend: str
    findings: tuple[Finding, ...] = ()
    withheld: tuple[Finding, ...] = ()
    outcomes: tuple[Outcome, ...] = ()
    problem: Problem | None = None
    remarks: tuple[str, ...] = ()
    path: str | None = None
    line: int | None = None
    seconds: float = 0.0

    @property
    def ok(self) -> bool:
        """True where the subject was checked and has neither errors nor warnings."""
        return self.problem is None and self.worst not in ("error", "warning")

    @property
    def worst(self) -> Severity | None:
        """The worst severity among the findings."""
        return min((f.severity for f in self.findings), key=rank, default=None)

    def counts(self) -> dict[str, int]:
        """How many findings there are of each severity."""
        return {s: sum(f.severity == s for f in self.findings) for s in SEVERITIES}

    def __str__(self) -> str:
        parts = [str(finding) for finding in self.findings]
        if self.problem is not None:
            parts.append(str(self.problem))
        counts = ", ".join(f"{n} {s}{'s' * (n != 1)}" for s, n in self.counts().items() if n) or "no findings"
        ran = sum(o.status in ("passed", "failed") for o in self.outcomes)
        parts.append(f"{self.subject} on {self.backend}: {counts}; {ran} of {len(self.outcomes)} rules ran.")
        return "\n\n".join(parts)

    def to_dict(self) -> dict[str, Any]:
        """Plain data of the report, as it goes over a pipe and into JSON."""
        return dataclasses.asdict(self)

    @classmethod
    def from_dict(cls, data: dict[str, Any]) -> Report:
        """The inverse of `to_dict`."""
        problem = data.get("problem")
        return cls(
            **{
                **data,
                "findings": tuple(Finding(**f) for f in data["findings"]),
                "withheld": tuple(Finding(**f) for f in data["withheld"]),
                "outcomes": tuple(Outcome(**o) for o in data["outcomes"]),
                "problem": None if problem is None else Problem(**problem),
                "remarks": tuple(data["remarks"]),
            }
        )
