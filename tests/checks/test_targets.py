"""The words of a command line as targets: what is found, what is refused, and that nothing is run for it."""

from __future__ import annotations

import subprocess
import sys
import zipfile
from pathlib import Path
from textwrap import dedent

import pytest

from layerwright.checks.targets import FORMS, Target, expand
from layerwright.errors import TargetError

pytestmark = pytest.mark.once

LAYER = "import keras\nclass Lift(keras.layers.Layer):\n    pass\n"


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    return tmp_path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def refusal(*words: str) -> str:
    with pytest.raises(TargetError) as caught:
        expand(words)
    return str(caught.value)


def test_a_file_is_one_target(folder: Path) -> None:
    path = write(folder / "lift.py", LAYER)
    assert expand(["lift.py"]) == [Target("file", str(path))]


def test_names_after_a_colon_choose_classes(folder: Path) -> None:
    path = write(folder / "lift.py", LAYER)
    assert expand(["lift.py:Lift"]) == [Target("file", str(path), ("Lift",))]


def test_a_folder_stands_for_its_files_that_may_define_a_layer(folder: Path) -> None:
    kept = [
        write(folder / "a.py", LAYER),
        write(folder / "b.py", "from mine import Block\nclass Mine(Block): pass\n"),
        write(folder / "c.py", "import layerwright as lw\n@lw.example\ndef one(): ...\n"),
        write(folder / "deep" / "d.py", "from tensorflow.keras import Model\nif True:\n    class M(Model): pass\n"),
    ]
    write(folder / "callbacks.py", "import keras\nclass C(keras.callbacks.Callback): pass\n")
    write(folder / "errors.py", "class Bad(ValueError): pass\nclass Plain: pass\n")
    write(folder / "tests.py", "import unittest\nclass T(unittest.TestCase): pass\n")
    write(folder / "torches.py", "from torch import nn\nclass T(nn.Module): pass\n")
    write(folder / ".venv" / "layers.py", LAYER)
    write(folder / "own" / "pyvenv.cfg", "")
    write(folder / "own" / "lib" / "layers.py", LAYER)
    write(folder / "__pycache__" / "layers.py", LAYER)
    assert expand(["."]) == [Target("file", str(path)) for path in kept]


def test_a_file_that_is_not_python_is_kept_where_it_speaks_of_layers(folder: Path) -> None:
    path = write(folder / "half.py", "class Lift(keras.layers.Layer:\n")
    write(folder / "other.py", "print 'hello'\n")
    assert expand(["."]) == [Target("file", str(path))]


def test_a_class_that_derives_from_one_of_the_same_file_counts(folder: Path) -> None:
    write(folder / "x.py", "class A(B): pass\nclass B(C): pass\nclass C(A): pass\n")
    with pytest.raises(TargetError, match="No file in"):
        expand(["."])


def test_the_same_target_comes_once(folder: Path) -> None:
    path = write(folder / "lift.py", LAYER)
    assert expand(["lift.py", str(path), "."]) == [Target("file", str(path))]


def test_a_saved_model_is_a_target(folder: Path) -> None:
    path = folder / "model.keras"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("config.json", "{}")
    assert expand(["model.keras"]) == [Target("model", str(path))]


def test_an_installed_package_is_one_target() -> None:
    assert expand(["keras.layers:Dense,LSTM"]) == [Target("module", "keras.layers", ("Dense", "LSTM"))]


def test_a_package_of_the_working_folder_says_from_where_it_is_imported(folder: Path) -> None:
    write(folder / "mine" / "__init__.py", "")
    write(folder / "mine" / "blocks.py", LAYER)
    assert expand(["mine.blocks"]) == [Target("module", "mine.blocks", (), str(folder))]


def test_a_module_of_one_file_in_the_working_folder_is_a_file(folder: Path) -> None:
    path = write(folder / "train_it.py", LAYER)
    assert expand(["train_it"]) == [Target("file", str(path))]


def test_a_package_that_makes_its_own_modules_is_left_to_the_import(folder: Path) -> None:
    write(folder / "lazy_one" / "__init__.py", "def __getattr__(name): ...\n")
    assert expand(["lazy_one.anything"]) == [Target("module", "lazy_one.anything", (), str(folder))]


def test_finding_targets_imports_no_framework_and_runs_nothing(folder: Path) -> None:
    write(folder / "loud" / "__init__.py", "raise SystemExit('imported')\n")
    write(folder / "loud" / "blocks.py", "raise SystemExit('imported')\n" + LAYER)
    code = (
        "import sys; from layerwright.checks.targets import expand;"
        "print(len(expand(['loud.blocks', 'loud', 'keras.layers'])));"
        "print(sorted({'keras', 'tensorflow', 'jax', 'torch', 'loud'} & set(sys.modules)))"
    )
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert done.stderr == ""
    assert done.stdout == "3\n[]\n"


def test_a_path_that_is_not_there_names_the_nearest(folder: Path) -> None:
    write(folder / "first_layers.py", LAYER)
    assert refusal("first_layer.py") == (
        "There is no `first_layer.py`.\n"
        f"  Expected: {FORMS}\n"
        "  Got:      first_layer.py\n"
        "  Fix:      write `first_layers.py`."
    )


def test_a_folder_that_is_not_there_is_named(folder: Path) -> None:
    assert refusal("nowhere/lift.py") == (
        "There isn't the folder `nowhere`.\n"
        f"  Expected: {FORMS}\n"
        "  Got:      nowhere/lift.py\n"
        "  Fix:      write the path of a file that is there."
    )


def test_a_notebook_is_refused_with_what_to_do(folder: Path) -> None:
    path = write(folder / "train.ipynb", "{}")
    assert refusal("train.ipynb") == (
        "Notebooks can't be checked from the command line yet.\n"
        f"  Expected: {FORMS}\n"
        f"  Got:      {path}\n"
        "  Fix:      save the notebook as a Python file: jupyter nbconvert --to script train.ipynb"
    )


def test_an_old_weights_file_is_refused_with_what_to_do(folder: Path) -> None:
    path = write(folder / "model.h5", "")
    assert refusal("model.h5") == (
        "`model.h5` isn't a kind of file that can be checked.\n"
        f"  Expected: {FORMS}\n"
        f"  Got:      {path}\n"
        "  Fix:      load the model and save it as a .keras file."
    )


def test_a_class_that_the_file_lacks_names_the_nearest(folder: Path) -> None:
    write(folder / "lift.py", LAYER)
    assert refusal("lift.py:Lfit") == (
        "`lift.py` defines no `Lfit`.\n  Expected: `Lift`\n  Got:      `Lfit`\n  Fix:      write `Lift`."
    )


def test_a_name_that_a_star_import_may_bind_is_left_to_the_import(folder: Path) -> None:
    path = write(folder / "all.py", "from lift import *\n")
    assert expand(["all.py:Lift"]) == [Target("file", str(path), ("Lift",))]


def test_a_folder_without_layers_says_so(folder: Path) -> None:
    write(folder / "src" / "plain.py", "x = 1\n")
    assert refusal("src") == (
        "No file in `src` defines a layer or a model.\n"
        "  Expected: a class that derives from keras.layers.Layer or keras.Model in one of its .py files\n"
        "  Got:      1 Python files without one\n"
        "  Fix:      name another folder, or the file that defines the layer."
    )


def test_a_misspelt_module_names_the_nearest() -> None:
    assert refusal("keras.layrs") == (
        "`keras` has no module `layrs`.\n"
        f"  Expected: {FORMS}\n"
        "  Got:      `keras.layrs`\n"
        "  Fix:      write `keras.layers` or `keras.legacy`."
    )


def test_a_class_named_as_a_module_gets_the_form_with_a_colon() -> None:
    assert refusal("keras.layers.Dense") == (
        "`keras.layers` has no module `Dense`.\n"
        f"  Expected: {FORMS}\n"
        "  Got:      `keras.layers.Dense`\n"
        "  Fix:      write `keras.layers:Dense` to check one class of `keras.layers`."
    )


def test_words_that_are_no_name_are_taken_for_a_path(folder: Path) -> None:
    assert refusal("two words").startswith("There is no `two words`.\n")


def test_a_target_says_how_it_would_be_written() -> None:
    assert [str(Target("file", "a.py")), str(Target("module", "m.n", ("A", "B")))] == ["a.py", "m.n:A,B"]
