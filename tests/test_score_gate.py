"""The gate that compares scores with the record: it must fail when the score is worse, and only then."""

import json
import tomllib
from pathlib import Path

import pytest
import score_gate

pytestmark = pytest.mark.once

RECORD = """
[jax]
found = 2
false_alarms = 1
died = 0
"""
AS_RECORDED = ["found", "found", "MISSED", "FALSE ALARM", "clean", "n/a"]


@pytest.fixture
def gate(tmp_path: Path, capsys: pytest.CaptureFixture[str]):
    """Judges a list of verdicts: the exit status and what was printed."""
    record = tmp_path / "score.toml"
    record.write_text(RECORD)
    rows = tmp_path / "rows.json"

    def run(verdicts: list[str], backend: str = "jax") -> tuple[int, list[str]]:
        rows.write_text(json.dumps([{"case": str(n), "verdict": v} for n, v in enumerate(verdicts)]))
        status = score_gate.main(["--record", str(record), f"{backend}={rows}"])
        return status, capsys.readouterr().out.splitlines()

    return run


def test_a_score_equal_to_the_record_passes(gate):
    assert gate(AS_RECORDED) == (
        0,
        ["ok     jax: 2 found, 1 false alarms, 0 died; as recorded", "score: 1 passed, 0 failed"],
    )


def test_a_better_score_passes_and_asks_to_raise_the_record(gate):
    status, lines = gate(["found", "found", "found", "clean", "clean"])
    assert status == 0
    assert lines == [
        "ok     jax: 3 found, 0 false alarms, 0 died; "
        "better than the record of {'found': 2, 'false_alarms': 1, 'died': 0}: raise it",
        "score: 1 passed, 0 failed",
    ]


@pytest.mark.parametrize(
    ("verdicts", "reason"),
    [
        (["found", "MISSED", "clean"], "1 found, the record is 2"),
        (["found", "found", "FALSE ALARM", "FALSE ALARM"], "2 false alarms, the record is 1"),
        (["found", "found", "found", "DIED"], "1 died, the record is 0"),
    ],
)
def test_a_score_worse_in_one_count_fails_and_says_which(gate, verdicts, reason):
    status, lines = gate(verdicts)
    assert status == 1
    assert lines[0].startswith("FAILED jax: ")
    assert lines[0].endswith(f"; worse than the record: {reason}")
    assert lines[-1] == "score: 0 passed, 1 failed"


def test_a_score_without_cases_fails(gate):
    assert gate([]) == (1, ["FAILED jax: the score holds no cases", "score: 0 passed, 1 failed"])


def test_a_backend_without_a_record_fails(gate):
    assert gate(AS_RECORDED, "torch") == (
        1,
        ["FAILED torch: the record doesn't name this backend", "score: 0 passed, 1 failed"],
    )


def test_a_scorer_that_wrote_nothing_fails_its_backend(tmp_path, capsys):
    record = tmp_path / "score.toml"
    record.write_text(RECORD)
    assert score_gate.main(["--record", str(record), f"jax={tmp_path / 'missing.json'}"]) == 1
    assert capsys.readouterr().out.startswith("FAILED jax: no score could be read: ")


def test_the_repository_records_every_backend():
    records = tomllib.loads((Path(__file__).parent / "score.toml").read_text())
    assert {name: set(record) for name, record in records.items()} == {
        name: {"found", "false_alarms", "died"} for name in ("tensorflow", "jax", "torch")
    }
