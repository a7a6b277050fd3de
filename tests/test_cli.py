"""The command line: what it says, where, and with which status it ends. The checks themselves are stood in for."""

from __future__ import annotations

import importlib.metadata
import importlib.util
import json
import os
import signal
import subprocess
import sys
import types
import zipfile
from pathlib import Path

import child
import pytest
import stand_ins
from stand_ins import StandInPool, clean, faulty, missing_slope, not_built

import layerwright
from layerwright import backends, cli, environment
from layerwright.checks import declared
from layerwright.checks.processes import pool
from layerwright.checks.processes.limits import GIB
from layerwright.checks.report import Finding, Problem, Report

pytestmark = pytest.mark.once

FORMS = "a .py file, a folder, a module or package, package.module:Name, or a .keras file"


@pytest.fixture(autouse=True)
def surroundings(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """A working directory with one file; all frameworks and Keras are there; text isn't wrapped."""
    for name in ("COLUMNS", "FORCE_COLOR", "KERAS_BACKEND"):
        monkeypatch.delenv(name, raising=False)
    monkeypatch.setattr(backends, "installed", lambda: ["tensorflow", "jax", "torch"])
    monkeypatch.setattr(environment, "version", {"keras": "3.15.1", "jax": "0.10.2", "torch": "2.13.0"}.get)
    monkeypatch.chdir(tmp_path)
    stand_ins.source(tmp_path)


@pytest.fixture
def path(tmp_path: Path) -> str:
    return str(tmp_path / "layers.py")


@pytest.fixture
def reports(monkeypatch: pytest.MonkeyPatch):
    """Sets the reports that the pool yields."""

    def prepare(*made, remarks=()):
        monkeypatch.setattr(StandInPool, "reports", made)
        monkeypatch.setattr(StandInPool, "remarks", remarks)

    monkeypatch.setattr(pool, "Pool", StandInPool)
    monkeypatch.setattr(StandInPool, "made", [])
    prepare()
    return prepare


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]):
    """Runs the command; its status, standard output and standard error."""

    def command(*words: str) -> tuple[int, str, str]:
        with pytest.raises(SystemExit) as end:
            cli.main(words)
        return (end.value.code, *capsys.readouterr())

    return command


def test_findings_are_shown_and_the_status_is_one(run, reports, path):
    reports(faulty(path), clean(path), remarks=("3 top-level statements were not run: lines 40-77.",))
    status, out, err = run("check", "layers.py", "--backend", "jax")
    assert (status, err) == (1, "")
    blocks = out.split("\n\n")
    assert blocks[0].startswith("layers.py:10  LW301 output-shape  error  LeakyScale\n    10 | def call(self, x):\n")
    assert blocks[2].splitlines()[-1] == "layers.py: 3 top-level statements were not run: lines 40-77."
    assert blocks[3].startswith("2 subjects on jax: 1 passed, 1 failed; 1 error, 1 warning; ")


def test_a_clean_run_has_status_zero(run, reports, path):
    reports(clean(path))
    status, out, err = run("check", "layers.py", "--backend", "jax")
    assert (status, err) == (0, "")
    assert out.startswith("1 subject on jax: 1 passed; no findings; ")


def test_notes_and_what_could_not_be_built_fail_only_where_that_is_asked_for(run, reports, path):
    for report in (not_built(path), Report("A", "jax", findings=(Finding("r", "LW999", "note", "m"),), path=path)):
        reports(report)
        assert run("check", "layers.py", "--backend", "jax")[0] == 0
        assert run("check", "layers.py", "--backend", "jax", "--strict")[0] == 1


def test_withheld_notes_are_shown_where_that_is_asked_for(run, reports, path):
    reports(faulty(path))
    assert "note (withheld)" in run("check", "layers.py", "--backend", "jax", "--notes")[1]
    assert "note (withheld)" not in run("check", "layers.py", "--backend", "jax")[1]


def test_backends_run_one_after_another_and_each_once(run, reports, path):
    reports(faulty(path, "torch"), faulty(path, "jax"))
    status, out, _ = run("check", "layers.py", "--backend", "jax,torch", "--backend", "jax")
    assert [made["backend"] for made in StandInPool.made] == ["jax", "torch"]
    assert all(made["closed"] for made in StandInPool.made)
    assert (status, out.count("LW101")) == (1, 1)
    assert "\n1 subject on jax, torch: 0 passed, 1 failed; " in out


def test_without_a_backend_one_that_is_installed_runs(run, reports, path, monkeypatch):
    monkeypatch.setattr(backends, "installed", lambda: ["torch"])
    reports(clean(path, "torch"))
    assert run("check", "layers.py")[0] == 0
    assert [made["backend"] for made in StandInPool.made] == ["torch"]


def test_the_pool_gets_the_limits_the_rules_and_the_inputs(run, reports, path):
    reports(clean(path))
    words = ["--timeout", "2.5", "--memory", "0.5", "--inputs", "(None, 32):float32", "--inputs", "(None, 5):int32<9"]
    assert run("check", "layers.py", "--backend", "jax", "--select", "LW101", "--select", "config", *words)[0] == 0
    (made,) = StandInPool.made
    assert (made["limits"].seconds, made["limits"].memory) == (2.5, GIB // 2)
    assert made["rules"] == [rule.name for rule in declared.load().values() if rule.family == "config"]
    assert made["inputs"] == [layerwright.Spec((None, 32)), layerwright.Spec((None, 5), "int32", 9)]
    assert made["targets"] == [path]


def test_ignored_rules_do_not_reach_the_pool(run, reports, path):
    reports(clean(path))
    run("check", "layers.py", "--backend", "jax", "--ignore", "config-missing-arg, LW101")
    assert StandInPool.made[0]["rules"] == [name for name in declared.load() if name != "config-missing-arg"]


def test_json_goes_to_standard_output_alone(run, reports, path):
    reports(faulty(path), remarks=("2 statements were not run.",))
    status, out, err = run("check", "layers.py", "--backend", "jax,torch", "--format", "json")
    data = json.loads(out)
    assert (status, err) == (1, "")
    assert (data["version"], data["layerwright"], data["keras"]) == (1, layerwright.__version__, "3.15.1")
    assert data["backends"] == {"jax": "0.10.2", "torch": "2.13.0"}
    assert data["targets"] == ["layers.py"]
    assert data["loading"] == {path: ["2 statements were not run."]}
    assert [Report.from_dict(report) for report in data["reports"]] == [faulty(path)]
    assert data["summary"]["exit_code"] == 1


USAGE = {
    ("check", "laers.py"): (
        f"There is no `laers.py`.\n  Expected: {FORMS}\n  Got:      laers.py\n  Fix:      write `layers.py`.\n"
    ),
    ("chek", "layers.py"): (
        "`layerwright` has no command `chek`.\n"
        "  Expected: check, explain, rules\n"
        "  Got:      chek\n"
        "  Fix:      write `layerwright check`.\n"
    ),
    ("layers.py",): (
        "`layerwright` has no command `layers.py`.\n"
        "  Expected: check, explain, rules\n"
        "  Got:      layers.py\n"
        "  Fix:      write `layerwright check layers.py`.\n"
    ),
    ("check",): (
        "`layerwright check` needs a TARGET.\n"
        f"  Expected: {FORMS}\n"
        "  Got:      nothing\n"
        "  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--selct", "x"): (
        "`layerwright check` has no option `--selct`.\n  Fix:      write `--select`.\n"
    ),
    ("check", "layers.py", "-q"): (
        "`layerwright check` has no option `-q`.\n  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--timeout"): (
        "Option `--timeout` requires an argument.\n  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--timeout", "0"): (
        "The value of `--timeout` can't be used.\n"
        "  Expected: a number above 0\n"
        "  Got:      0.0 is not in the range x>0\n"
        "  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--memory", "nan"): (
        "The value of `--memory` can't be used.\n"
        "  Expected: a number above 0\n"
        "  Got:      nan is no limit\n"
        "  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--format", "xml"): (
        "The value of `--format` can't be used.\n"
        "  Expected: text, json\n"
        "  Got:      'xml' is not one of 'text', 'json'\n"
        "  Fix:      see `layerwright check --help`.\n"
    ),
    ("check", "layers.py", "--select", "config-mising-arg"): (
        "There is no rule `config-mising-arg`.\n  Got:      config-mising-arg\n  Fix:      write `config-missing-arg`"
    ),
    ("explain",): (
        "`layerwright explain` needs a RULE.\n"
        "  Expected: the name or the code of a rule; `layerwright rules` lists them\n"
        "  Got:      nothing\n"
        "  Fix:      see `layerwright explain --help`.\n"
    ),
    ("explain", "xyzzy"): (
        "There is no rule `xyzzy`.\n  Got:      xyzzy\n  Fix:      see `layerwright rules` for the list.\n"
    ),
    ("explain", "LW101", "LW102"): (
        "Got unexpected extra argument (LW102).\n  Fix:      see `layerwright explain --help`.\n"
    ),
    ("check", "layers.py", "--backend", "theano"): (
        "`theano` is not a backend that layerwright checks on.\n"
        "  Expected: tensorflow, jax, torch\n"
        "  Got:      theano\n"
        "  Fix:      pass one that is installed: tensorflow, jax, torch.\n"
    ),
    ("check", "layers.py", "--inputs", "3, 4"): (
        "The inputs `3, 4` can't be read.\n"
        "  Expected: a shape with the batch axis first, and a dtype: (None, 32):float32\n"
        "  Got:      3, 4\n"
        '  Fix:      write it in parentheses, for example "(3, 4):float32".\n'
    ),
}


@pytest.mark.parametrize("words", USAGE, ids=" ".join)
def test_a_wrong_command_line_is_told_in_four_slots_with_status_two(run, reports, words):
    status, out, err = run(*words)
    assert (status, out) == (2, "")
    assert err.startswith(USAGE[words])
    assert err == USAGE[words] or "config-mising-arg" in words


def test_every_rule_ignored_leaves_none_to_run(run, reports):
    families = ",".join({rule.family for rule in declared.load().values()})
    status, _, err = run("check", "layers.py", "--ignore", families)
    assert status == 2
    assert err == (
        f"No rule is left to run.\n  Got:      --select (all) --ignore {families}\n  Fix:      ignore fewer rules.\n"
    )


def test_a_file_that_is_not_python_is_told_at_its_line(run, reports, tmp_path):
    Path("broken.py").write_text("x = 1\nclass (Layer):\n")
    status, out, err = run("check", "broken.py")
    assert (status, out) == (2, "")
    assert err == (
        "`broken.py` isn't Python that can be read.\n"
        f"  Expected: the syntax of Python {sys.version_info.major}.{sys.version_info.minor}\n"
        "  Got:      invalid syntax\n"
        "  Fix:      correct the line; `%magic` and `!command` lines of a notebook must be left out.\n"
        f"  Where:    {tmp_path}/broken.py:2\n"
    )


def test_a_broken_file_in_a_folder_does_not_keep_the_others_from_being_checked(run, reports, path):
    Path("broken.py").write_text("class Layer(:\n")
    reports(clean(path))
    assert run("check", ".", "--backend", "jax")[0] == 0


def test_an_empty_folder_is_refused(run, reports):
    Path("empty").mkdir()
    status, out, err = run("check", "empty")
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == "No file in `empty` defines a layer or a model."


def test_a_path_that_the_system_refuses_is_told(run, reports):
    status, out, err = run("check", f"{'x' * 300}.py")
    assert (status, out) == (2, "")
    assert err.splitlines()[1:] == ["  Got:      File name too long", f"  Where:    {'x' * 300}.py"]


def test_a_file_without_layers_is_refused(run, reports):
    Path("plain.py").write_text("x = 1\n")
    status, out, err = run("check", "plain.py", "--backend", "jax")
    assert (status, out) == (2, "")
    assert err == (
        "Nothing in `plain.py` can be checked.\n"
        "  Expected: a class that derives from keras.layers.Layer or keras.Model, or a function with `@lw.example`\n"
        "  Got:      none\n"
        "  Fix:      name the file or module that defines the layer.\n"
    )


def test_the_json_report_is_written_beside_the_text(run, reports, path, tmp_path):
    reports(faulty(path))
    status, out, _ = run("check", "layers.py", "--backend", "jax", "--json-report", "report.json")
    assert status == 1
    assert out.startswith("layers.py:10  LW301")
    document = json.loads((tmp_path / "report.json").read_text())
    assert [report["subject"] for report in document["reports"]] == ["LeakyScale"]
    assert run("check", "layers.py", "--backend", "jax", "--format", "json")[1].startswith("{")


def test_a_report_that_cannot_be_written_is_told_before_anything_is_checked(run, reports, path):
    reports(faulty(path))
    status, out, err = run("check", "layers.py", "--backend", "jax", "--json-report", "no/report.json")
    assert (status, out, StandInPool.made) == (2, "", [])
    assert err == (
        "The report can't be written to `no/report.json`.\n"
        "  Expected: a file in a folder that is there\n"
        "  Got:      No such file or directory\n"
        "  Fix:      make the folder, or name another file.\n"
    )


def test_a_report_is_never_written_over_source_and_leaves_no_empty_file(run, reports, path, tmp_path):
    before = Path("layers.py").read_text()
    status, out, err = run("check", "layers.py", "--backend", "jax", "--json-report", "layers.py")
    assert (status, out, Path("layers.py").read_text()) == (2, "", before)
    assert err.splitlines()[0] == "The report would be written over `layers.py`."
    assert run("check", "nowhere.py", "--json-report", "report.json")[0] == 2
    assert not (tmp_path / "report.json").exists()


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_a_report_that_finds_no_room_is_told_after_the_text(run, reports, path):
    reports(faulty(path))
    status, out, err = run("check", "layers.py", "--backend", "jax", "--json-report", "/dev/full")
    assert status == 2
    assert out.startswith("layers.py:10  LW301")
    assert err == "The report can't be written to `/dev/full`.\n  Got:      No space left on device\n"


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="there is no full device")
def test_output_that_finds_no_room_or_is_closed_is_no_failure_of_ours():
    code = "from layerwright.cli import main; main(['rules'])"
    env = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with open("/dev/full", "w") as full:
        done = subprocess.run([sys.executable, "-c", code], env=env, stdout=full, stderr=subprocess.PIPE, text=True)
    assert done.returncode == 2
    assert done.stderr == "The output can't be written.\n  Got:      No space left on device\n"


def test_files_that_are_no_files_and_files_without_end_do_not_stop_the_others(run, reports, path):
    Path("folder").mkdir()
    os.mkfifo("folder/pipe.py")
    Path("folder/huge.py").write_text("class L(Layer):\n    pass\n" + "x = 1\n" * 400_000)
    reports(clean(path))
    assert run("check", "folder", "layers.py", "--backend", "jax")[0] == 0
    status, out, err = run("check", "folder/huge.py")
    assert (status, out, err.splitlines()[0]) == (2, "", "`huge.py` is too large to be read.")


def test_a_saved_model_that_is_none_is_refused_at_once(run, reports):
    Path("bad.keras").write_bytes(b"nothing")
    status, out, err = run("check", "bad.keras")
    assert (status, out, err.splitlines()[0]) == (2, "", "`bad.keras` isn't a saved model.")


REFUSED = "`A` takes float32 (2, 8), and with float32 (3,) raises ValueError: no"


def test_inputs_that_no_layer_takes_are_a_wrong_command_line(run, reports, path):
    reports(Report("A", "jax", problem=Problem("inputs-refused", REFUSED, "give others.", path, 10), path=path))
    status, out, err = run("check", "layers.py", "--backend", "jax", "--inputs", "(3,)")
    assert (status, out) == (2, "")
    assert err == (
        "The layer doesn't take these inputs.\n"
        f"  Got:      {REFUSED}\n  Fix:      give others.\n  Where:    {path}:10\n"
    )


def test_inputs_that_one_layer_takes_are_said_of_the_other(run, reports, path):
    reports(Report("A", "jax", problem=Problem("inputs-refused", REFUSED), path=path), clean(path))
    status, out, err = run("check", "layers.py", "--backend", "jax", "--inputs", "(3,)")
    assert (status, err) == (0, "")
    assert "refuses these inputs  A\n" in out
    assert "2 subjects on jax: 1 passed, 1 could not be checked (A refuses these inputs); " in out


def test_without_a_framework_the_way_to_install_one_is_told(run, reports, monkeypatch):
    monkeypatch.setattr(backends, "installed", list)
    status, out, err = run("check", "layers.py")
    assert (status, out) == (2, "")
    assert err.splitlines()[0] == "No framework is installed for Keras to run on."


@pytest.mark.parametrize(
    ("installed", "first", "got"),
    [
        ({}, "Keras is not installed", "no keras"),
        ({"tf_keras": "2.21.0"}, "tf_keras 2.21.0 (Keras 2) is installed, but not Keras 3", "tf_keras 2.21.0"),
        ({"keras": "2.15.0"}, "Keras 2.15.0 is installed, which is Keras 2", "keras 2.15.0"),
        ({"keras": "3.3.3"}, "Keras 3.3.3 is installed, which is too old", "keras 3.3.3"),
    ],
)
def test_without_a_keras_that_can_be_checked_one_sentence_says_so(run, reports, monkeypatch, installed, first, got):
    monkeypatch.setattr(environment, "version", installed.get)
    monkeypatch.setattr(importlib.util, "find_spec", {}.get)
    status, out, err = run("check", "layers.py")
    assert (status, out) == (2, "")
    assert err == (
        f"{first}; layerwright checks layers of Keras 3.12 or newer.\n"
        "  Expected: keras 3.12 or newer\n"
        f"  Got:      {got}\n"
        '  Fix:      pip install "keras>=3.12".\n'
    )


@pytest.mark.parametrize("version", ["3.12.0", "3.15.1", "3.13.0.dev0", "4.0"])
def test_a_keras_that_is_new_enough_is_taken(monkeypatch, version):
    monkeypatch.setattr(environment, "version", {"keras": version}.get)
    environment.require_keras()


def test_a_version_is_read_from_the_metadata_of_the_package_that_is_installed(monkeypatch):
    monkeypatch.undo()
    assert environment.version("click") == importlib.metadata.version("click")
    assert environment.version("no-such-package") is None


@pytest.fixture
def static(monkeypatch: pytest.MonkeyPatch):
    """Stands in for the reading of a file: records the files, and reports one finding on each."""
    seen: list[tuple[Path, list[str]]] = []
    module = types.ModuleType("layerwright.checks.static")

    def check_file(path, rules):
        seen.append((path, [rule.name for rule in rules]))
        return [Report("LeakyScale", "", findings=(missing_slope(str(path), ""),), path=str(path), line=5)]

    module.check_file = check_file
    monkeypatch.setitem(sys.modules, "layerwright.checks.static", module)
    rules = declared.load()
    first = next(iter(rules))
    one = types.SimpleNamespace(**{**vars(rules[first]), "static": True})
    other = types.SimpleNamespace(**{**vars(rules[first]), "static": False, "name": "other"})
    monkeypatch.setattr(declared, "load", lambda: {first: one, "other": other})
    return seen


def test_static_reads_each_file_once_under_the_rules_that_can(run, static, path, monkeypatch):
    monkeypatch.setattr(environment, "version", {}.get)  # no Keras is needed
    status, out, err = run("check", "--static", "layers.py", ".")
    assert (status, err) == (1, "")
    assert static == [(Path(path), [next(iter(declared.load()))])]
    assert out.splitlines()[-1].startswith("1 subject: 0 passed, 1 failed; 1 warning; ")


def test_static_finds_the_sources_of_a_package_without_importing_it(run, static, tmp_path, monkeypatch):
    package = tmp_path / "boom" / "inner"
    package.mkdir(parents=True)
    for folder in (package, package.parent):
        (folder / "__init__.py").write_text("raise RuntimeError('imported')\n")
    (package / "deep.py").write_text("raise RuntimeError('imported')\n")
    monkeypatch.syspath_prepend(tmp_path)
    assert run("check", "--static", "boom.inner")[0] == 1
    assert [file for file, _ in static] == [package / "__init__.py", package / "deep.py"]
    assert run("check", "--static", "boom.inner.deep")[0] == 1
    assert static[-1][0] == package / "deep.py"
    assert not {"boom", "boom.inner"} & set(sys.modules)


def test_static_refuses_a_saved_model(run, static):
    with zipfile.ZipFile("model.keras", "w") as archive:
        archive.writestr("config.json", "{}")
    status, out, err = run("check", "--static", "model.keras")
    assert (status, out) == (2, "")
    assert err.splitlines()[2] == "  Got:      a saved model"


def test_static_without_a_rule_that_can_is_refused(run, static):
    status, out, err = run("check", "--static", "layers.py", "--select", "other")
    assert (status, out) == (2, "")
    assert err == (
        "None of these rules can be run without importing the file.\n"
        "  Got:      --select other --ignore (none)\n"
        "  Fix:      leave out --static, or select other rules.\n"
    )


def test_rules_are_listed_one_a_line(run):
    status, out, err = run("rules")
    assert (status, err) == (0, "")
    rules = list(declared.load().values())
    lines = out.splitlines()
    assert len(lines) == len(rules)
    for line, rule in zip(lines, rules, strict=True):
        cells = [rule.code, rule.name, rule.severity, rule.family, *(["static"] if rule.static else []), rule.title]
        assert line.split(maxsplit=len(cells) - 1) == cells
    for column in ("family", "title"):
        after = len("LW101  ")
        starts = {line.index(getattr(r, column), after + len(r.name)) for line, r in zip(lines, rules, strict=True)}
        assert len(starts) == 1


def test_rules_on_a_narrow_terminal_stay_within_it(run, monkeypatch):
    monkeypatch.setenv("COLUMNS", "40")
    assert max(len(line.rstrip()) for line in run("rules")[1].splitlines() if not line.startswith("LW")) <= 40


def test_rules_are_listed_as_json(run):
    status, out, _ = run("rules", "--format", "json")
    data = json.loads(out)
    row = next(row for row in data["rules"] if row["code"] == "LW101")
    assert (status, data["version"], len(data["rules"])) == (0, 1, len(declared.load()))
    assert (row["name"], row["severity"], row["family"]) == ("config-missing-arg", "warning", "config")


@pytest.mark.parametrize("word", ["config-missing-arg", "LW101", "lw101"])
def test_explain_prints_the_page_of_a_rule_given_by_name_or_code(run, word):
    assert run("explain", word) == (0, declared.load()["config-missing-arg"].page(), "")


def test_explain_renders_the_page_on_a_terminal(run, monkeypatch):
    monkeypatch.setenv("FORCE_COLOR", "1")
    monkeypatch.setenv("COLUMNS", "80")
    out = run("explain", "LW101")[1]
    assert "\x1b[" in out
    assert "## " not in out


def test_the_version_is_printed(run):
    assert run("--version") == (0, f"layerwright, version {layerwright.__version__}\n", "")


def test_without_a_command_the_help_goes_to_standard_error(run):
    status, out, err = run()
    assert (status, out) == (2, "")
    assert err.startswith("Usage: layerwright [OPTIONS] ")
    assert "\n  explain  Print the page of a RULE, given by its name or its code.\n" in err


def test_ctrl_c_ends_quietly_and_the_pool_is_closed(run, reports, path):
    reports(clean(path), KeyboardInterrupt())
    assert run("check", "layers.py", "--backend", "jax") == (130, "", "")
    assert StandInPool.made[-1]["closed"]


def test_a_fault_of_ours_is_told_without_a_traceback_which_goes_to_a_file(run, reports):
    reports(ZeroDivisionError("division by zero"))
    status, out, err = run("check", "layers.py", "--backend", "jax")
    assert (status, out) == (70, "")
    *lines, last = err.splitlines()
    assert lines == [
        "layerwright itself failed; this is not a fault of the code that was checked.",
        "  Got:      ZeroDivisionError: division by zero",
        "  Fix:      report it to the developers of layerwright, with the file named below.",
    ]
    trace = Path(last.removeprefix("  Where:    "))
    text = trace.read_text()
    trace.unlink()
    trace.parent.rmdir()
    assert text.startswith("layerwright check layers.py --backend jax\n")
    assert "Traceback (most recent call last)" in text
    assert text.endswith("ZeroDivisionError: division by zero\n")


RUN = "import sys; sys.argv[0] = 'layerwright'; from layerwright.cli import main; main()"


def test_a_closed_pipe_ends_the_command_quietly():
    reading, writing = os.pipe()
    os.close(reading)
    for words in (["rules"], ["rules", "--format", "json"], ["explain", "LW101"], ["--help"]):
        done = subprocess.run([sys.executable, "-c", RUN, *words], stdout=writing, stderr=subprocess.PIPE, check=False)
        assert (done.returncode, done.stderr) == (130, b""), words
    os.close(writing)


def test_an_output_that_cannot_hold_a_character_gets_it_written_out(tmp_path):
    Path("größe.py").write_text("class (\n", encoding="utf-8")
    env = {**os.environ, "PYTHONIOENCODING": "ascii"}
    done = subprocess.run(
        [sys.executable, "-c", RUN, "check", "größe.py"], env=env, capture_output=True, text=True, check=False
    )
    assert done.returncode == 2
    assert done.stderr.splitlines()[0] == "`gr\\xf6\\xdfe.py` isn't Python that can be read."


def test_importing_the_command_imports_nothing_that_is_slow():
    slow = {"rich", "numpy", "keras", "importlib.metadata"}
    code = f"import sys, layerwright.cli\nprint(sorted({slow} & set(sys.modules)))"
    assert child.output(code) == "[]"


def test_a_progress_bar_names_what_runs_on_a_terminal_and_nothing_stays_of_it(tmp_path):
    pty = pytest.importorskip("pty")
    code = (
        "from layerwright.checks.processes import pool\nimport stand_ins, sys\n"
        "from layerwright import backends, environment\n"
        "backends.installed = lambda: ['jax']\nenvironment.version = {'keras': '3.15.1'}.get\n"
        "pool.Pool = stand_ins.StandInPool\n"
        "stand_ins.StandInPool.reports = [stand_ins.clean('layers.py')]\n"
        "from layerwright.cli import main\nmain(['check', 'layers.py', '--backend', 'jax'])\n"
    )
    env = {
        **os.environ,
        "TERM": "xterm",
        "PYTHONPATH": os.pathsep.join([str(Path(stand_ins.__file__).parent), *sys.path]),
    }
    ours, theirs = pty.openpty()
    done = subprocess.run([sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=theirs, check=False)
    os.close(theirs)
    shown = os.read(ours, 1 << 16).decode()
    os.close(ours)
    assert done.returncode == 0
    assert done.stdout.startswith(b"1 subject on jax: 1 passed; no findings; ")
    assert "Good on jax" in shown
    assert shown.endswith("\x1b[?25h\r\x1b[1A\x1b[2K")


@pytest.mark.slow
def test_ctrl_c_in_a_running_command_ends_it_quietly():
    code = (
        # Where the tests run in the background of a shell, Ctrl-C is ignored from the start.
        "import signal\nsignal.signal(signal.SIGINT, signal.default_int_handler)\n"
        "import time\nfrom layerwright.checks.processes import pool\n"
        "import stand_ins\nfrom layerwright import backends\n"
        "class Slow(stand_ins.StandInPool):\n"
        "    def run(self, targets, on_event):\n"
        "        print('running', flush=True)\n        time.sleep(60)\n        yield\n"
        "pool.Pool = Slow\nfrom layerwright.cli import main\nmain(['check', 'layers.py'])\n"
    )
    env = {**os.environ, "PYTHONPATH": os.pathsep.join([str(Path(stand_ins.__file__).parent), *sys.path])}
    with subprocess.Popen(
        [sys.executable, "-c", code], env=env, stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True
    ) as process:
        assert process.stdout is not None
        assert process.stdout.readline() == "running\n"
        process.send_signal(signal.SIGINT)
        out, err = process.communicate(timeout=30)
    assert (process.returncode, out, err) == (130, "", "")
