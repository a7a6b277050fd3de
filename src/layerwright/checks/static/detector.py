"""Detectors: one for each rule whose fault the source alone proves, registered by the rule's name."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterable

from layerwright.checks.report import Severity
from layerwright.checks.static.code import Code
from layerwright.checks.static.view import ClassView


@dataclasses.dataclass(frozen=True)
class Fault:
    """What a detector found; the rule's code and severity come from its declaration.

    Attributes:
        message: What the source does, in one sentence that begins with "The source".
        at: The node to blame.
        expected, got, fix: The other slots.
        severity: At which it is raised, where that isn't the rule's own.
    """

    message: str
    at: ast.expr | ast.stmt
    expected: str
    got: str
    fix: str
    severity: Severity | None = None


Detector = Callable[[ClassView], Iterable[Fault]]
DETECTORS: dict[str, Detector] = {}


def reads(rule: str) -> Callable[[Detector], Detector]:
    """Register a detector for the rule of this name; it is run on every layer and model of a file."""

    def register(detector: Detector) -> Detector:
        DETECTORS[rule] = detector
        return detector

    return register


def signature(code: Code) -> str:
    """The first line of a function, as it was written: `def call(self, x, training=True)`."""
    if isinstance(code.node, ast.Lambda):
        return ast.unparse(code.node)
    return f"def {code.node.name}({ast.unparse(code.node.args)})"
