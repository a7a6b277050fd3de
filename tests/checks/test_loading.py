"""Loading the user's code: what of a script is run, what is left out and said, and what is found to check."""

from __future__ import annotations

import inspect
import sys
from collections.abc import Iterator
from pathlib import Path
from textwrap import dedent
from typing import Any

import keras
import pytest

from layerwright.checks import loading
from layerwright.checks.examples import Example
from layerwright.checks.loading import CannotLoad, Loaded, load_file, load_model, load_module, subject_of, subjects_in
from layerwright.errors import SourceError, TargetError


@pytest.fixture(autouse=True)
def modules_as_before() -> Iterator[None]:
    before, path = set(sys.modules), list(sys.path)
    yield
    mine = [n for n in set(sys.modules) - before if n.startswith(("layerwright_file_", "shop", "sibling", "tools_of"))]
    for name in mine:
        del sys.modules[name]
    sys.path[:] = path


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(dedent(text))
    return path


def load(folder: Path, text: str) -> Loaded:
    return load_file(write(folder / "script.py", text))


def names(loaded: Loaded, *only: str) -> list[str]:
    return [found.name for found in subjects_in(loaded, only)]


def test_a_script_that_trains_is_loaded_without_training(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        import numpy as np

        class Block(keras.layers.Layer):
            def call(self, x):
                return x * 2.0

        x = np.ones((4, 3))
        model = keras.Sequential([Block()])
        model.compile("sgd", "mse")
        model.fit(x, x)
        for epoch in range(3):
            print(epoch)
        raise RuntimeError("the end")
        """,
    )
    assert names(loaded) == ["Block"]
    assert loaded.remarks == ("6 top-level statements were not run: lines 8-14.",)
    assert not hasattr(loaded.module, "model")


def test_what_a_layer_needs_is_run_and_nothing_else(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        UNITS = 4
        DOUBLE = UNITS * 2
        UNUSED = 1 / 0
        TABLE = {}
        TABLE["a"] = 1
        TABLE.update(b=2)
        for k in range(3):
            TABLE[k] = k
        if UNITS > 3:
            SCALE = 0.5
        else:
            SCALE = 2.0
        OFFSET: float = 1.0
        OFFSET += 1.0
        (A, B), C = (1, 2), 3

        def helper(x):
            return x * SCALE + DOUBLE

        def unreached():
            return UNUSED

        class Block(keras.layers.Layer):
            def call(self, x):
                return helper(x) + TABLE["b"] + OFFSET + A
        """,
    )
    module = loaded.module
    assert (module.DOUBLE, module.SCALE, module.OFFSET, module.B) == (8, 0.5, 2.0, 2)
    assert module.TABLE == {"a": 1, "b": 2, 0: 0, 1: 1, 2: 2}
    assert loaded.remarks == ("1 top-level statement was not run: line 4.",)


def test_what_a_callback_refers_to_is_not_needed(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        x_train = open("not there")
        class Plot(keras.callbacks.Callback):
            def on_epoch_end(self, epoch, logs=None):
                print(x_train)
        """,
    )
    assert loaded.remarks == ("1 top-level statement was not run: line 2.",)


def test_the_names_of_decorators_defaults_and_class_bodies_are_needed(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        PACKAGE = "mine"
        WIDTH = 3
        LIMIT = 7

        def registered(cls):
            return keras.saving.register_keras_serializable(PACKAGE)(cls)

        @registered
        class Block(keras.layers.Layer):
            limit = LIMIT

            def __init__(self, width=WIDTH, **kwargs):
                super().__init__(**kwargs)

            def call(self, x):
                return x
        """,
    )
    assert loaded.remarks == ()
    assert loaded.module.Block.limit == 7


def test_a_parser_of_the_command_line_sees_no_words(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(sys, "argv", ["layerwright", "check", "script.py"])
    loaded = load(
        tmp_path,
        """\
        import argparse, keras
        parser = argparse.ArgumentParser()
        parser.add_argument("--units", type=int, default=5)
        args = parser.parse_args()
        class Block(keras.layers.Layer):
            def call(self, x):
                return x * args.units
        """,
    )
    assert loaded.module.args.units == 5
    assert sys.argv == ["layerwright", "check", "script.py"]


def test_training_is_not_run_even_where_a_layer_needs_its_result(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        (x, y), _ = keras.datasets.mnist.load_data()
        mean = x.mean()
        class Centre(keras.layers.Layer):
            def call(self, inputs):
                return inputs - mean
        """,
    )
    assert loaded.remarks == (
        "1 top-level statement was not run: line 2.",
        "Line 3 raised NameError: name 'x' is not defined; `mean` is not there.",
    )
    (found,) = subjects_in(loaded)
    assert subject_of(found).remarks == (
        "Guessed: called with float32 (2, 8).",
        "`mean` is not there: line 3 raised NameError: name 'x' is not defined.",
    )


def test_a_guarded_import_is_run_with_its_handlers(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        try:
            import not_installed_anywhere as fast
        except ImportError:
            fast = None
        if keras.backend.backend() in ("jax", "torch", "tensorflow"):
            import math as maths
        with open(__file__) as source:
            TEXT = source.read()
        class Block(keras.layers.Layer):
            note = TEXT
            def call(self, x):
                return x * (1.0 if fast is None else maths.pi)
        """,
    )
    assert loaded.module.fast is None
    assert loaded.module.maths.__name__ == "math"
    assert loaded.module.TEXT.startswith("import keras")
    assert loaded.remarks == ()


def test_the_main_guard_is_left_out_without_a_word(tmp_path: Path) -> None:
    loaded = load(tmp_path, 'import keras\nif __name__ == "__main__":\n    raise SystemExit(1)\n')
    assert loaded.remarks == ()


def test_paths_and_policies_are_set_but_not_the_backend(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    running = keras.backend.backend()
    monkeypatch.setenv("KERAS_BACKEND", running)
    monkeypatch.delenv("SCRIPT_WAS_HERE", raising=False)
    write(tmp_path / "lib" / "sibling_of_script.py", "WIDTH = 9\n")
    loaded = load(
        tmp_path,
        """\
        import os, sys
        os.environ["KERAS_BACKEND"] = "none such"
        os.environ["SCRIPT_WAS_HERE"] = "1"
        sys.path.insert(0, os.path.join(os.path.dirname(__file__), "lib"))
        import sibling_of_script
        """,
    )
    assert __import__("os").environ["KERAS_BACKEND"] == running
    assert loaded.module.os.environ["SCRIPT_WAS_HERE"] == "1"
    assert loaded.module.sibling_of_script.WIDTH == 9
    assert loaded.remarks == ("1 top-level statement was not run: line 2.",)


def test_lines_and_source_are_the_files_own(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        print("left out")

        class Block(keras.layers.Layer):
            def call(self, x):
                return x
        """,
    )
    (found,) = subjects_in(loaded)
    assert (found.path, found.line) == (str(tmp_path / "script.py"), 4)
    assert inspect.getsource(loaded.module.Block).startswith("class Block")
    assert loaded.module.Block.call.__code__.co_firstlineno == 5
    assert loaded.module.__file__ == str(tmp_path / "script.py")


def test_the_module_has_the_same_name_for_the_same_path(tmp_path: Path) -> None:
    path = write(tmp_path / "my-script.py", "x = 1\n")
    name = loading.module_name(path)
    assert name.startswith("layerwright_file_my_script_")
    assert load_file(path).module is sys.modules[name]
    assert loading.module_name(tmp_path / "other" / "my-script.py") != name


def test_annotations_are_not_evaluated_under_the_future_import(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        from __future__ import annotations
        import keras
        class Block(keras.layers.Layer):
            def call(self, x: NotThere) -> NorThis:
                return x
        """,
    )
    assert names(loaded) == ["Block"]


def test_an_import_that_nothing_needs_may_fail(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        import not_installed_anywhere as plots
        def show(): plots.show()
        class Block(keras.layers.Layer):
            def call(self, x):
                return x
        """,
    )
    assert names(loaded) == ["Block"]
    assert loaded.remarks == (
        "Line 2 raised ModuleNotFoundError: No module named 'not_installed_anywhere'; "
        "nothing that is checked needs it.",
    )


def test_an_import_that_a_layer_needs_ends_the_loading_with_its_line(tmp_path: Path) -> None:
    with pytest.raises(CannotLoad) as caught:
        load(
            tmp_path,
            """\
            import keras
            from not_installed_anywhere import Block
            class Mine(Block):
                pass
            """,
        )
    problem = caught.value.problem
    assert (problem.kind, problem.path, problem.line) == ("import-failed", str(tmp_path / "script.py"), 2)
    assert problem.message == (
        "`script.py` can't be imported: ModuleNotFoundError: No module named 'not_installed_anywhere'."
    )
    assert problem.help == "install `not_installed_anywhere`, or run the check where it is installed."
    assert loading.module_name(tmp_path / "script.py") not in sys.modules


def test_an_import_that_exits_is_an_outcome_too(tmp_path: Path) -> None:
    write(tmp_path / "sibling_that_exits.py", "raise SystemExit(4)\n")
    with pytest.raises(CannotLoad) as caught:
        load(tmp_path, "import keras\nfrom sibling_that_exits import *\n")
    assert caught.value.problem.message == "`script.py` can't be imported: SystemExit: 4."


def test_a_class_whose_statement_raises_is_a_problem_of_its_own(tmp_path: Path) -> None:
    loaded = load(
        tmp_path,
        """\
        import keras
        class Bad(keras.layers.Layer):
            width = len(7)
        class Good(keras.layers.Layer):
            def call(self, x):
                return x
        """,
    )
    bad, good = subjects_in(loaded)
    assert bad.problem is not None
    assert bad.problem.message == "`Bad` can't be defined: TypeError: object of type 'int' has no len()."
    assert (bad.problem.kind, bad.problem.line) == ("import-failed", 3)
    assert (good.name, good.problem) == ("Good", None)


def test_a_file_that_is_not_python_says_where(tmp_path: Path) -> None:
    with pytest.raises(SourceError) as caught:
        load(tmp_path, "import keras\n%matplotlib inline\n")
    version = f"{sys.version_info.major}.{sys.version_info.minor}"
    assert str(caught.value) == (
        "`script.py` isn't Python that can be read.\n"
        f"  Expected: the syntax of Python {version}\n"
        "  Got:      invalid syntax\n"
        "  Fix:      correct the line; `%magic` and `!command` lines of a notebook must be left out.\n"
        f"  Where:    {tmp_path / 'script.py'}:2"
    )


def test_a_file_of_a_package_may_import_relatively(tmp_path: Path) -> None:
    write(tmp_path / "shop" / "__init__.py", "")
    write(
        tmp_path / "shop" / "base.py",
        "import keras\nclass Base(keras.layers.Layer):\n    def call(self, x): return x\n",
    )
    path = write(tmp_path / "shop" / "blocks.py", "from .base import Base\nclass Block(Base): pass\nprint('run')\n")
    loaded = load_file(path)
    assert loaded.module.__name__ == "shop.blocks"
    assert names(loaded) == ["Block"]
    assert loaded.remarks == ("1 top-level statement was not run: line 3.",)


def test_a_file_that_its_package_imports_is_taken_from_there(tmp_path: Path) -> None:
    write(tmp_path / "shop2" / "__init__.py", "from shop2.blocks import Block\n")
    write(
        tmp_path / "shop2" / "base.py",
        "import keras\nclass Base(keras.layers.Layer):\n    def call(self, x): return x\n",
    )
    path = write(tmp_path / "shop2" / "blocks.py", "from .base import Base\nclass Block(Base): pass\n")
    loaded = load_file(path)
    assert loaded.module is sys.modules["shop2.blocks"]
    assert loaded.remarks == ("It was run as a whole, because the package that it belongs to imports it.",)
    assert load_file(path) is loaded


def test_modules_of_the_project_are_found_from_the_file_upwards(tmp_path: Path) -> None:
    write(tmp_path / "pyproject.toml", "")
    write(tmp_path / "tools_of_project" / "sizes.py", "UNITS = 6\n")
    path = write(
        tmp_path / "models" / "blocks.py",
        """\
        import keras
        from tools_of_project.sizes import UNITS
        class Block(keras.layers.Layer):
            def call(self, x):
                return x * UNITS
        """,
    )
    assert load_file(path).module.UNITS == 6


def test_a_module_that_is_not_there_or_raises_cannot_be_loaded(tmp_path: Path) -> None:
    with pytest.raises(CannotLoad) as caught:
        load_module("not_installed_anywhere.layers")
    assert caught.value.problem.message == (
        "`not_installed_anywhere.layers` can't be imported: "
        "ModuleNotFoundError: No module named 'not_installed_anywhere'."
    )
    assert caught.value.problem.help == "install `not_installed_anywhere`."
    path = write(tmp_path / "shop3.py", "import keras\n1 / 0\n")
    with pytest.raises(CannotLoad) as caught:
        load_module("shop3", str(tmp_path))
    assert (caught.value.problem.path, caught.value.problem.line) == (str(path), 2)


def test_a_package_is_walked_by_its_public_names_each_class_once() -> None:
    found = subjects_in(load_module("keras.layers"))
    listed = [item.name for item in found]
    assert len(listed) == len(set(listed)) > 100
    assert "Conv2D" in listed
    assert "Convolution2D" not in listed
    skipped = {item.name: item.skipped for item in found if item.skipped}
    assert skipped == {
        "Layer": "`Layer` is a base for others: it defines no `call`.",
        "Wrapper": "`Wrapper` is a base for others: it defines no `call`.",
    }


def test_a_package_without_public_classes_is_walked_by_its_modules(tmp_path: Path) -> None:
    write(tmp_path / "shop4" / "__init__.py", "")
    write(tmp_path / "shop4" / "a.py", "import keras\nclass A(keras.layers.Layer):\n    def call(self, x): return x\n")
    write(tmp_path / "shop4" / "b.py", "from shop4.a import A\nclass B(A): pass\n")
    write(tmp_path / "shop4" / "broken.py", "1 / 0\n")
    write(tmp_path / "shop4" / "_private.py", "1 / 0\n")
    found = subjects_in(load_module("shop4", str(tmp_path)))
    assert [item.name for item in found] == ["A", "B", "shop4.broken"]
    assert found[2].problem is not None
    assert found[2].problem.message == "`shop4.broken` can't be imported: ZeroDivisionError: division by zero."


CLASSES = """\
    import abc, keras
    import layerwright as lw
    from keras.layers import Dense

    class Base(keras.layers.Layer):
        def call(self, x):
            raise NotImplementedError

    class Formal(keras.layers.Layer, abc.ABC):
        @abc.abstractmethod
        def transform(self, x): ...

        def call(self, x):
            return self.transform(x)

    class _Private(Base):
        def call(self, x):
            return x

    @lw.example(3)
    @lw.example(4)
    class Sized(Base):
        def __init__(self, n, **kwargs):
            super().__init__(**kwargs)

        def call(self, x):
            return x

    class Plain:
        pass

    Alias = Plain

    @lw.example
    def made():
        return _Private()
    """


def test_a_file_gives_its_public_classes_and_examples_in_their_order(tmp_path: Path) -> None:
    found = subjects_in(load(tmp_path, CLASSES))
    assert [(item.name, item.skipped) for item in found] == [
        ("Base", "`Base` is a base for others: its `call` only raises NotImplementedError."),
        ("Formal", "`Formal` is an abstract base: `transform` must be defined by a subclass."),
        ("Sized (example 1)", None),
        ("Sized (example 2)", None),
        ("made", None),
    ]
    assert [type(item.what) for item in found[2:]] == [Example] * 3
    assert [item.line for item in found] == [5, 9, 22, 22, 35]


def test_chosen_names_may_be_private_or_imported(tmp_path: Path) -> None:
    loaded = load(tmp_path, CLASSES)
    assert names(loaded, "_Private", "Sized", "Dense") == [
        "Sized (example 1)",
        "Sized (example 2)",
        "_Private",
        "Dense",
    ]


def test_a_chosen_name_that_is_no_layer_is_refused(tmp_path: Path) -> None:
    loaded = load(tmp_path, CLASSES)
    with pytest.raises(TargetError) as caught:
        subjects_in(loaded, ("Plain",))
    assert str(caught.value).startswith(
        "`Plain` of `script.py` isn't a layer or model.\n  Expected: `Base`, `Formal`, "
    )
    with pytest.raises(TargetError, match=r"`Size` of `script\.py` isn't there"):
        subjects_in(loaded, ("Size",))


def test_a_saved_model_is_one_subject_with_each_custom_layer_beside_it(tmp_path: Path) -> None:
    @keras.saving.register_keras_serializable("loading_tests")
    class Twice(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x * 2.0

    path = tmp_path / "model.keras"
    inputs = keras.Input((6,))
    keras.Model(inputs, keras.layers.Dense(2)(Twice(name="twice")(inputs))).save(path)
    whole, part = load_model(path)
    assert [whole.name, part.name] == ["model.keras", "twice (Twice)"]
    subject = subject_of(whole)
    assert [x.shape for x in subject.args] == [(2, 6)]
    assert subject.make()(*subject.args).shape == (2, 2)
    assert isinstance(subject_of(part).make(), Twice)


def test_a_saved_lambda_is_not_loaded_and_the_problem_says_why(tmp_path: Path) -> None:
    path = tmp_path / "model.keras"
    keras.Sequential([keras.Input((3,)), keras.layers.Lambda(lambda x: x * 2.0)]).save(path)
    with pytest.raises(CannotLoad) as caught:
        load_model(path)
    assert caught.value.problem.kind == "import-failed"
    assert caught.value.problem.help == (
        "replace the Lambda by a layer with a registered class; its code isn't loaded from a file."
    )


def test_a_saved_model_of_unknown_classes_names_the_way(tmp_path: Path) -> None:
    class Unknown(keras.layers.Layer):
        def call(self, x: Any) -> Any:
            return x

    path = tmp_path / "model.keras"
    keras.Sequential([keras.Input((3,)), Unknown()]).save(path)
    with pytest.raises(CannotLoad) as caught:
        load_model(path)
    assert caught.value.problem.help == (
        "check the file that defines the class; a model of custom classes can't be loaded without them."
    )
