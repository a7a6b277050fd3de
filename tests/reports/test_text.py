"""The text of reports: whole texts, against fixed reports."""

from __future__ import annotations

import dataclasses
import io
import os
from pathlib import Path

import pytest
import stand_ins
from stand_ins import clean, faulty, missing_slope, not_built, timed_out, wrong_shape

from layerwright.checks.report import Finding, Outcome, Problem, Report
from layerwright.reports import text
from layerwright.reports.console import console, safe
from layerwright.reports.source import cause, excerpt

pytestmark = pytest.mark.once


@pytest.fixture(autouse=True)
def plain(monkeypatch: pytest.MonkeyPatch):
    for name in ("COLUMNS", "FORCE_COLOR", "NO_COLOR", "TTY_COMPATIBLE"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def path(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    monkeypatch.chdir(tmp_path)
    return stand_ins.source(tmp_path)


def shown(*reports: Report, seconds: float = 4.23, **options) -> str:
    file = io.StringIO()
    text.show(console(file), reports, seconds=seconds, **options)
    return file.getvalue()


def test_a_piped_report_has_a_block_a_finding_then_the_problems_then_the_counts(path):
    said = {path: ["3 top-level statements were not run: lines 40-77."]}
    assert shown(not_built(path), faulty(path), timed_out(path), clean(path), loading=said) == (
        "layers.py:10  LW301 output-shape  error  LeakyScale\n"
        "    10 | def call(self, x):\n"
        "       |     ^^^^\n"
        "  `call` returns (2, 3).\n"
        "\n"
        "layers.py:14  LW101 config-missing-arg  warning  LeakyScale\n"
        '    14 | return {**super().get_config(), "gain": self.gain}\n'
        "       |                   ^^^^^^^^^^\n"
        "  `get_config` leaves out `slope`: a reloaded `LeakyScale` falls back to the default.\n"
        "  Expected: the keys `gain` and `slope`\n"
        "  Got:      `gain`; after a round trip `slope` is 0.1, it was 0.3\n"
        '  Fix:      add "slope": self.slope to the dict that `get_config` returns.\n'
        "\n"
        "layers.py:10  timed out  Slow\n"
        "    10 | def call(self, x):\n"
        "       | ^^^^^^^^^^^^^^^^^^\n"
        "  `Slow` did not end within 60 s.\n"
        "  Fix:      `--timeout 120` gives it more time.\n"
        "\n"
        "layers.py:18  could not be built  Table\n"
        "    18 | def __init__(self, table):\n"
        "       |                    ^^^^^\n"
        "  No value could be guessed for the argument `table`.\n"
        "  Fix:      @lw.example(table=..., inputs=lw.Spec((None, 8)))\n"
        "\n"
        "1 note of general advice is withheld until the errors and warnings are fixed: not-registered "
        "(--notes shows it).\n"
        "1 symptom of these faults is not shown: reload-differs (--notes shows it).\n"
        "layers.py: 3 top-level statements were not run: lines 40-77.\n"
        "\n"
        "4 subjects on jax: 1 passed, 1 failed, 2 could not be checked "
        "(Table could not be built; Slow timed out); 1 error, 1 warning; 4.2 s.\n"
    )


def test_a_narrow_terminal_gets_lines_that_fit_and_hang_below_their_slot(path, monkeypatch):
    monkeypatch.setenv("COLUMNS", "60")
    out = shown(faulty(path))
    assert max(map(len, out.splitlines())) <= 60
    assert out.split("\n\n")[1] == (
        "layers.py:14  LW101 config-missing-arg  warning\n"
        "    LeakyScale\n"
        '    14 | return {**super().get_config(), "gain": self.gain}\n'
        "       |                   ^^^^^^^^^^\n"
        "  `get_config` leaves out `slope`: a reloaded `LeakyScale`\n"
        "  falls back to the default.\n"
        "  Expected: the keys `gain` and `slope`\n"
        "  Got:      `gain`; after a round trip `slope` is 0.1, it\n"
        "            was 0.3\n"
        '  Fix:      add "slope": self.slope to the dict that\n'
        "            `get_config` returns."
    )


def test_a_clean_run_is_one_line(path):
    assert shown(clean(path)) == "1 subject on jax: 1 passed; no findings; 4.2 s.\n"


def test_what_is_withheld_is_shown_where_that_is_asked_for(path):
    blocks = shown(faulty(path), notes=True).split("\n\n")
    assert blocks[2:4] == [
        "layers.py:5  LW109 reload-differs  error (withheld)  LeakyScale\n"
        "     5 | class LeakyScale(keras.layers.Layer):\n"
        "       |       ^^^^^^^^^^\n"
        "  The outputs differ after reloading.",
        "layers.py:5  LW108 not-registered  note (withheld)  LeakyScale\n"
        "     5 | class LeakyScale(keras.layers.Layer):\n"
        "       |       ^^^^^^^^^^\n"
        "  The class of line 5 isn't registered.",
    ]
    assert blocks[4] == "1 subject on jax: 0 passed, 1 failed; 1 error, 1 warning; 4.2 s.\n"


def test_withheld_notes_are_counted_once_a_rule_and_wait_for_what_there_is(path):
    notes = tuple(stand_ins.advice(path, line) for line in (5, 17))
    report = Report("LeakyScale", "jax", findings=(missing_slope(path),), withheld=notes, path=path, line=5)
    assert shown(report).split("\n\n")[1] == (
        "2 notes of general advice are withheld until the warnings are fixed: not-registered (2) (--notes shows them)."
    )


def test_the_same_finding_of_several_subjects_is_shown_once_with_all_of_them_named(path):
    names = ["A", "B", "C", "D", "E", "F", "G"]
    reports = [Report(n, "jax", findings=(missing_slope(path, subject=n),), path=path, line=5) for n in names]
    assert shown(*reports).count("LW101") == 1
    assert shown(*reports).splitlines()[0] == (
        "layers.py:14  LW101 config-missing-arg  warning  A, B, C, D, E and 2 more"
    )
    assert shown(*reports).splitlines()[-1] == "7 subjects on jax: 0 passed, 7 failed; 1 warning; 4.2 s."


def test_a_finding_names_its_backends_only_where_it_is_not_seen_on_all(path):
    everywhere, here = missing_slope(path), wrong_shape(path)
    reports = (
        Report("LeakyScale", "jax", findings=(everywhere, here), path=path, line=5),
        Report("LeakyScale", "torch", findings=(everywhere,), path=path, line=5),
    )
    heads = [line for line in shown(*reports).splitlines() if line.startswith("layers.py")]
    assert heads == [
        "layers.py:10  LW301 output-shape  error  LeakyScale on jax",
        "layers.py:14  LW101 config-missing-arg  warning  LeakyScale",
    ]
    assert shown(*reports).splitlines()[-1] == "1 subject on jax, torch: 0 passed, 1 failed; 1 error, 1 warning; 4.2 s."


def test_equal_sentences_without_a_place_of_their_own_stay_with_their_subjects(path):
    reports = [
        Report(n, "jax", findings=(missing_slope(None, line=None),), path=path, line=k)
        for n, k in (("A", 5), ("B", 17))
    ]
    heads = [line for line in shown(*reports).splitlines() if line.startswith("layers.py")]
    assert heads == [
        "layers.py:5  LW101 config-missing-arg  warning  A",
        "layers.py:17  LW101 config-missing-arg  warning  B",
    ]


def test_findings_stand_by_file_and_line_whatever_the_order_of_the_reports(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    places = [("b.py", 2), ("a.py", 11), ("a.py", 3), (None, None)]
    reports = [
        Report(f"S{k}", "jax", findings=(missing_slope(path and str(tmp_path / path), line=line),))
        for k, (path, line) in enumerate(places)
    ]
    heads = [line.split("  ")[0] for line in shown(*reports).splitlines() if "LW101" in line]
    assert heads == ["a.py:3", "a.py:11", "b.py:2", "LW101 config-missing-arg"]


@pytest.mark.parametrize("line", [99, 4, None])
def test_a_line_that_is_gone_or_blank_is_left_out(path, line):
    report = Report("A", "jax", findings=(missing_slope(path, line=line),), path=path, line=5)
    assert " | " not in shown(report)
    assert shown(report).splitlines()[1].startswith("  `get_config` leaves out")


def test_a_file_that_is_gone_or_is_no_file_is_left_out(tmp_path):
    os.mkfifo(tmp_path / "pipe.py")
    for path in (tmp_path / "gone.py", tmp_path / "pipe.py", tmp_path):
        report = Report("A", "jax", findings=(missing_slope(str(path)),))
        assert " | " not in shown(report)


def test_a_file_outside_the_working_directory_keeps_its_whole_path(path, tmp_path, monkeypatch):
    (tmp_path / "elsewhere").mkdir()
    monkeypatch.chdir(tmp_path / "elsewhere")
    assert shown(faulty(path)).startswith(f"{tmp_path}/layers.py:10  LW301")


@pytest.mark.parametrize(
    ("line", "message", "marked"),
    [
        ("self.w = self.add_weight((3,))", "`MyLayer` names the weight `w` twice.", "w"),
        ("x = ops.where(x > 0, x, 0)  # why", "`MyLayer` branches.", "x = ops.where(x > 0, x, 0)"),
        ("def build(self, shape):", "`MyLayer.build()` is never called.", "build"),
        ("return np.sum(x, axis=1)", "`np.sum(x, axis=1)` runs outside the graph.", "np.sum(x, axis=1)"),
        ("kernel = kernels[k]", "`kernel` is lost.", "kernel"),
        ("return self.dense(  # the rest stands below", "`MyLayer` has no name here.", "return self.dense("),
    ],
)
def test_the_caret_marks_the_first_name_of_the_message_that_the_line_holds(line, message, marked):
    start, end = cause(line, message)
    assert line[start:end] == marked


def test_a_long_line_is_cropped_around_the_cause(tmp_path):
    file = tmp_path / "long.py"
    file.write_text(f"value = [{'0, ' * 40}self.w, {'1, ' * 40}]\n")
    found = excerpt(str(file), 1, "`self.w` is lost.")
    assert found is not None
    short = found.cropped(50)
    assert (len(short.text), short.text[short.start : short.end]) == (50, "self.w")
    assert (short.text[:3], short.text[-3:]) == ("...", "...")


def test_a_caret_stands_below_its_cause_behind_wide_characters(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    Path("wide.py").write_text('x = {"層の名前": slope}\n', encoding="utf-8")
    lines = shown(Report("A", "jax", findings=(missing_slope("wide.py", line=1),))).splitlines()
    assert lines[2] == "       |" + " " * 18 + "^^^^^"


def test_control_characters_of_the_users_are_written_out(path):
    message = "`call` says \x1b[2J\x1b[1;1Hhello\r\x07 [bold]no markup[/bold] :smile: \udce4 \u202egnirts"
    finding = Finding("output-shape", "LW301", "error", message, path=path, line=10)
    out = shown(Report("\x1b[31mred", "jax", findings=(finding,)))
    assert "\x1b" not in out
    assert out.splitlines()[0] == "layers.py:10  LW301 output-shape  error  \\x1b[31mred"
    assert out.splitlines()[3] == (
        "  `call` says \\x1b[2J\\x1b[1;1Hhello\\r\\x07 [bold]no markup[/bold] :smile: \\udce4 \\u202egnirts"
    )


def test_safe_leaves_ordinary_text_alone():
    assert safe("Größe\tx\n層 🙂") == "Größe\tx\n層 🙂"


def test_rules_that_could_not_be_decided_are_counted_with_the_reasons(path):
    skipped = [Outcome(f"r{k}", "skipped", "the layer has no weights.") for k in range(2)]
    others = [
        Outcome("a", "skipped", "shows on jax only"),
        Outcome("b", "skipped", "the rule failed on this layer: KeyError: 1"),
        Outcome("c", "passed"),
    ]
    report = Report("A", "torch", outcomes=(*skipped, *others), path=path, line=1)
    assert shown(report) == (
        "3 of 5 rule runs were skipped: the rule failed on this layer: KeyError: 1; the layer has no weights (2).\n"
        "\n"
        "1 subject on torch: 1 passed; no findings; 4.2 s.\n"
    )


def test_a_long_reason_is_cut_and_the_rare_ones_are_only_counted(path):
    outcomes = [Outcome(f"r{k}", "skipped", f"reason {k} " + "x" * 100 + "\nand lines") for k in range(5)]
    cut = [f"reason {k} " + "x" * 78 + "..." for k in range(3)]
    assert shown(Report("A", "jax", outcomes=tuple(outcomes), path=path, line=1)).split("\n\n")[0] == (
        f"5 of 5 rule runs were skipped: {'; '.join(cut)} and 2 more."
    )


def test_how_a_subject_was_built_is_said_where_it_has_findings_or_a_problem(path):
    said = "3 top-level statements were not run."
    reports = [
        dataclasses.replace(faulty(path, b), remarks=(said, "Guessed: built as `LeakyScale(gain=1.0)`."))
        for b in ("jax", "torch")
    ]
    others = [
        clean(path, remarks=(said, "Guessed: Good().")),
        dataclasses.replace(not_built(path), remarks=("no inputs",)),
    ]
    assert shown(*reports, *others, loading={path: [said]}).split("\n\n")[-2].splitlines()[-3:] == [
        "layers.py: 3 top-level statements were not run.",
        "Guessed: built as `LeakyScale(gain=1.0)`.",
        "Table: no inputs",
    ]


def test_many_remarks_are_cut(path):
    reports = [dataclasses.replace(faulty(path), remarks=(f"LeakyScale({k})",)) for k in range(7)]
    lines = shown(*reports).split("\n\n")[-2].splitlines()
    assert lines[-2:] == ["LeakyScale(4)", "2 more remarks of this kind: see --format json."]


def test_an_unknown_kind_of_problem_is_shown_by_its_name(path):
    report = Report("A", "jax", problem=Problem("not-reached", "Nobody came."), path=path, line=None)
    assert shown(report) == (
        "layers.py  not reached  A\n  Nobody came.\n\n"
        "1 subject on jax: 0 passed, 1 could not be checked (A not reached); no findings; 4.2 s.\n"
    )


class Terminal(io.StringIO):
    """A file that says it is a terminal."""

    def isatty(self) -> bool:
        return True


@pytest.fixture
def terminal(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TERM", "xterm")
    monkeypatch.setenv("COLUMNS", "80")
    monkeypatch.delenv("COLORTERM", raising=False)
    return Terminal()


def test_a_terminal_gets_colours_by_severity(path, terminal):
    text.show(console(terminal), [faulty(path)], seconds=1)
    lines = terminal.getvalue().splitlines()
    assert lines[0] == "\x1b[1mlayers.py:10\x1b[0m  \x1b[1;31mLW301 output-shape  error\x1b[0m  LeakyScale"
    assert lines[2] == "\x1b[2m       | \x1b[0m    \x1b[1;31m^^^^\x1b[0m"
    assert lines[3] == "  \x1b[1m`call`\x1b[0m returns (2, 3)."
    assert lines[5].startswith("\x1b[1mlayers.py:14\x1b[0m  \x1b[1;33mLW101 config-missing-arg  warning\x1b[0m")


@pytest.mark.parametrize(("name", "value"), [("NO_COLOR", "1"), ("TERM", "dumb")])
def test_a_terminal_without_colours_gets_no_escape_at_all(path, terminal, monkeypatch, name, value):
    monkeypatch.setenv(name, value)
    text.show(console(terminal), [faulty(path)], seconds=1)
    assert "\x1b" not in terminal.getvalue()
    assert terminal.getvalue().startswith("layers.py:10  LW301 output-shape  error  LeakyScale\n")
