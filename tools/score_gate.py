"""Compare scores of `layerwright.check` on collected cases with the record, and fail where they are worse.

    python tools/score_gate.py --record tests/score.toml jax=rows.json torch=other.json

Each JSON file holds a list of rows, one a case, with its `verdict`: "found", "MISSED", "clean", "FALSE ALARM",
"DIED" or "n/a". The last line printed counts the backends that reach the record and those that don't.
"""

from __future__ import annotations

import argparse
import json
import sys
import tomllib
from collections import Counter
from collections.abc import Mapping, Sequence
from pathlib import Path

VERDICTS = {"found": "found", "false_alarms": "FALSE ALARM", "died": "DIED"}


def counted(rows: Sequence[Mapping[str, object]]) -> dict[str, int]:
    """How many cases were found, raised a false alarm, or died."""
    verdicts = Counter(row["verdict"] for row in rows)
    return {name: verdicts[verdict] for name, verdict in VERDICTS.items()}


def worse(score: Mapping[str, int], record: Mapping[str, int]) -> list[str]:
    """What is worse than the record, a sentence each; empty where nothing is."""
    fewer = score["found"] < record["found"]
    names = (["found"] if fewer else []) + [name for name in ("false_alarms", "died") if score[name] > record[name]]
    return [f"{score[name]} {name.replace('_', ' ')}, the record is {record[name]}" for name in names]


def judge(path: Path, record: Mapping[str, int] | None) -> tuple[bool, str]:
    """Whether the rows of a file reach the record, and the sentence that says so."""
    if record is None:
        return False, "the record doesn't name this backend"
    try:
        rows = json.loads(path.read_text(encoding="utf-8"))
    except (OSError, ValueError) as error:
        return False, f"no score could be read: {error}"
    if not rows:
        return False, "the score holds no cases"
    score = counted(rows)
    text = ", ".join(f"{count} {name.replace('_', ' ')}" for name, count in score.items())
    reasons = worse(score, record)
    if reasons:
        return False, f"{text}; worse than the record: {'; '.join(reasons)}"
    if score != dict(record):
        return True, f"{text}; better than the record of {dict(record)}: raise it"
    return True, f"{text}; as recorded"


def main(words: Sequence[str] | None = None) -> int:
    """Judge every backend named; the status is 1 where one is worse than its record."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--record", type=Path, required=True, help="the TOML file with a table for each backend")
    parser.add_argument("scores", nargs="+", metavar="BACKEND=ROWS.json")
    given = parser.parse_args(words)
    records = tomllib.loads(given.record.read_text(encoding="utf-8"))
    verdicts = []
    for score in given.scores:
        backend, _, path = score.partition("=")
        good, text = judge(Path(path), records.get(backend))
        print(f"{'ok    ' if good else 'FAILED'} {backend}: {text}")
        verdicts.append(good)
    print(f"score: {sum(verdicts)} passed, {len(verdicts) - sum(verdicts)} failed")
    return 0 if all(verdicts) else 1


if __name__ == "__main__":
    sys.exit(main())
