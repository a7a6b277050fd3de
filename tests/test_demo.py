"""The demonstration: findings are no failure, a command that can't be used or dies is."""

from __future__ import annotations

import json
import sys
from pathlib import Path

import demo
import pytest

pytestmark = pytest.mark.once


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """Runs the demonstration with a stand-in for the command, which runs the given code."""
    monkeypatch.setattr(demo, "ROOT", tmp_path)

    def with_code(code: str) -> int:
        return demo.main([sys.executable, "-c", code])

    return with_code


def writes(text: str) -> str:
    """Code of a command that writes this as its report, which the last word of its line names."""
    return f"import pathlib, sys; pathlib.Path(sys.argv[-1]).write_text({text!r}); "


@pytest.mark.parametrize("status", [0, 1])
def test_findings_and_none_both_end_well_and_the_report_is_named(run, tmp_path, capfd, status):
    assert run(f"{writes(json.dumps({'version': 1}))} print('findings'); sys.exit({status})") == 0
    assert capfd.readouterr().out.splitlines() == [
        "$ layerwright check examples/first_layers.py --json-report build/first_layers.json",
        "findings",
        "",
        "The report lies in build/first_layers.json (JSON, format version 1).",
    ]
    assert json.loads((tmp_path / "build/first_layers.json").read_text()) == {"version": 1}


@pytest.mark.parametrize(
    ("code", "message"),
    [
        ("import sys; sys.exit(2)", "layerwright ended with status 2: it could not check the example."),
        ("import os; os.abort()", "layerwright ended with status -6: it could not check the example."),
    ],
)
def test_a_command_that_is_refused_or_killed_fails_the_demonstration(run, capfd, code, message):
    assert run(code) == 2
    assert capfd.readouterr().err.splitlines()[-1] == message


@pytest.mark.parametrize("code", ["raise RuntimeError('a fault of ours')", writes("[]"), writes("{}")])
def test_a_run_that_leaves_no_report_fails_the_demonstration(run, tmp_path, capfd, code):
    (tmp_path / "build").mkdir()
    (tmp_path / "build/first_layers.json").write_text('{"version": 1}')  # of an earlier run
    assert run(code) == 2
    assert capfd.readouterr().err.splitlines()[-1].startswith("build/first_layers.json is not a report: ")
