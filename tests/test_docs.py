"""What the README shows is what happens."""

from __future__ import annotations

import os
import re
import runpy
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from layerwright.checks import declared
from layerwright.checks.rule import FAMILIES

ROOT = Path(__file__).resolve().parents[1]
README = (ROOT / "README.md").read_text()
BLOCKS = re.findall(r"```(\w*)\n(.*?)```", README, re.DOTALL)


@pytest.mark.once
def test_the_first_example_says_what_the_readme_shows(tmp_path: Path) -> None:
    code = next(text for language, text in BLOCKS if language == "python")
    shown = next(text for language, text in BLOCKS if not language and text.startswith("$ layerwright check"))
    command, *expected = shown.strip().splitlines()
    (tmp_path / "scale.py").write_text(code)
    ran = subprocess.run(
        [sys.executable, "-c", "from layerwright.cli import main; main()", *command.split()[2:]],
        cwd=tmp_path,
        env={**os.environ, "COLUMNS": "110"},
        capture_output=True,
        text=True,
        timeout=240,
    )
    assert ran.returncode == 1, ran.stderr
    assert ran.stdout.strip().splitlines()[: len(expected)] == expected


@pytest.mark.once
def test_the_python_example_runs(tmp_path: Path) -> None:
    (tmp_path / "scale.py").write_text(next(text for language, text in BLOCKS if language == "python"))
    scope = runpy.run_path(str(tmp_path / "scale.py"))
    lines = next(text for language, text in BLOCKS if language == "python" and "lw.check(lambda" in text).splitlines()
    exec(compile("\n".join(lines[:3]), "readme", "exec"), scope)
    assert [f.rule for f in scope["report"].findings] == ["config-missing-arg"]


@pytest.mark.once
def test_the_table_of_families_counts_the_rules() -> None:
    counts = Counter(rule.family for rule in declared.load().values())
    for family, title in FAMILIES.items():
        row = re.search(rf"^\| {re.escape(title)} \| (\d+) \| (.+) \|$", README, re.MULTILINE)
        assert row is not None, title
        assert int(row[1]) == counts[family]
        for name in re.findall(r"`([\w-]+)`", row[2]):
            assert declared.load()[name].family == family
