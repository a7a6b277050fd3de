"""The JSON report: its fields are those that `docs/json.md` describes, and it says what the text says."""

from __future__ import annotations

import dataclasses
import json
import re
from pathlib import Path

import pytest
from stand_ins import clean, faulty, missing_slope, not_built, timed_out

import layerwright
from layerwright.checks.report import Finding, Outcome, Problem, Report
from layerwright.reports import catalogue
from layerwright.reports.json import document, dumps
from layerwright.reports.summary import exit_code, summarise

pytestmark = pytest.mark.once

PAGE = Path(__file__).parent.parent.parent / "docs" / "json.md"
REPORTS = [faulty("/a.py"), faulty("/a.py", "torch"), not_built("/a.py"), timed_out("/a.py"), clean("/a.py")]


def made(reports=REPORTS, **options):
    run = {"targets": ["a.py"], "loading": {}, "keras": "3.15.1", "backends": {"jax": "0.10.2"}, "seconds": 2.5}
    return document(reports, **{**run, **options})


def documented(heading: str) -> list[str]:
    section = re.split(r"^#+ ", PAGE.read_text(encoding="utf-8"), flags=re.MULTILINE)
    body = next(part for part in section if part.startswith(heading + "\n"))
    return re.findall(r"^\| `(\w+)` \|", body, flags=re.MULTILINE)


@pytest.mark.parametrize("kind", [Report, Finding, Outcome, Problem])
def test_every_field_of_a_report_is_documented_and_no_other(kind):
    assert documented(kind.__name__) == [field.name for field in dataclasses.fields(kind)]


def test_every_field_of_the_document_and_of_its_summary_is_documented_and_no_other():
    data = made()
    assert documented("Document") == list(data)
    assert documented("Summary") == list(data["summary"])


def test_every_field_of_a_rule_in_the_list_is_documented_and_no_other():
    from layerwright.checks import declared

    rows = catalogue.document(declared.load().values())["rules"]
    assert {tuple(row) for row in rows} == {tuple(documented("Rule"))}


def test_the_document_says_what_ran_and_what_was_found():
    said = {"a.py": ("2 statements were not run.",), "b.py": ()}
    data = json.loads(dumps(made(loading=said, backends={"jax": "0.10.2", "torch": None})))
    reports = data.pop("reports")
    assert data == {
        "version": 1,
        "layerwright": layerwright.__version__,
        "keras": "3.15.1",
        "backends": {"jax": "0.10.2", "torch": None},
        "targets": ["a.py"],
        "loading": {"a.py": ["2 statements were not run."]},
        "summary": {
            "subjects": 4,
            "passed": 1,
            "failed": 1,
            "unchecked": 2,
            "problems": {"not-built": ["Table"], "timed-out": ["Slow"]},
            "findings": {"error": 1, "warning": 1, "note": 0},
            "withheld": 2,
            "rules": {"passed": 3, "failed": 4, "skipped": 1, "withheld": 0},
            "seconds": 2.5,
            "exit_code": 1,
        },
    }
    assert [Report.from_dict(report) for report in reports] == REPORTS


def test_the_text_of_the_document_is_ascii_whatever_a_name_holds():
    report = clean("/größe/\udce4.py", subject="層")
    text = dumps(made([report]))
    assert text.isascii()
    assert Report.from_dict(json.loads(text)["reports"][0]) == report


@pytest.mark.parametrize(
    ("report", "status", "strict"),
    [
        (clean("/a.py"), 0, 0),
        (faulty("/a.py"), 1, 1),
        (Report("A", "jax", findings=(missing_slope("/a.py"),)), 1, 1),
        (Report("A", "jax", findings=(Finding("r", "LW999", "note", "m"),)), 0, 1),
        (not_built("/a.py"), 0, 1),
        (Report("A", "jax", problem=Problem("not-fed", "m")), 0, 1),
        (Report("A", "jax", problem=Problem("call-failed", "m")), 1, 1),
        *(
            (Report("A", "jax", problem=Problem(kind, "m")), 1, 1)
            for kind in ("crashed", "timed-out", "out-of-memory", "exited", "import-failed")
        ),
    ],
)
def test_the_exit_status_of_one_report(report, status, strict):
    assert (exit_code([clean("/a.py"), report]), exit_code([report], strict=True)) == (status, strict)


def test_a_subject_that_fails_on_one_backend_has_failed_and_counts_once():
    counts = summarise(
        [clean("/a.py", "jax", "A"), Report("A", "torch", findings=(missing_slope("/a.py"),), path="/a.py", line=1)], 0
    )
    assert (counts.subjects, counts.passed, counts.failed, counts.unchecked) == (1, 0, 1, 0)


def test_two_subjects_of_one_name_in_two_files_count_twice():
    assert summarise([clean("/a.py"), clean("/b.py")], 0).subjects == 2
