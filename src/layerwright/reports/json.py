"""Reports as JSON: one document, of which `docs/json.md` describes every field."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

import layerwright
from layerwright.checks.report import Report
from layerwright.reports.summary import exit_code, summarise

VERSION = 1


def document(
    reports: Sequence[Report],
    *,
    targets: Sequence[str],
    loading: Mapping[str, Sequence[str]],
    keras: str | None,
    backends: Mapping[str, str | None],
    seconds: float,
    strict: bool = False,
) -> dict[str, Any]:
    """Everything that a run found, as plain data.

    Args:
        reports: One for each subject and backend.
        targets: The targets, as they were written.
        loading: What was said about the loading of each file or module.
        keras: The version of Keras.
        backends: The frameworks that ran, with their versions, in the order in which they ran.
        seconds: How long everything took.
        strict: Whether notes and subjects that could not be checked fail the run.
    """
    return {
        "version": VERSION,
        "layerwright": layerwright.__version__,
        "keras": keras,
        "backends": dict(backends),
        "targets": list(targets),
        "loading": {name: list(remarks) for name, remarks in loading.items() if remarks},
        "reports": [report.to_dict() for report in reports],
        "summary": {**summarise(reports, seconds).to_dict(), "exit_code": exit_code(reports, strict=strict)},
    }


def dumps(data: Mapping[str, Any]) -> str:
    """The document as text: ASCII only, so that no terminal and no pipe can spoil it."""
    return json.dumps(data, indent=2, allow_nan=False) + "\n"
