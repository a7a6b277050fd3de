"""Loading saved layers in another process: what comes back, and that no request sees another's classes."""

from __future__ import annotations

import importlib.util
import os
import sys
import textwrap
import threading

import keras
import numpy as np
import pytest

from layerwright.checks.probes.saving import holder_class
from layerwright.checks.processes import elsewhere, reload, shipping, spare
from layerwright.checks.processes.limits import Limits
from layerwright.checks.processes.reload import ModuleRef, Reloaded

X = np.arange(8, dtype="float32").reshape(2, 4)
QUICK = Limits(seconds=5, memory=4 << 30)
pytestmark = pytest.mark.slow


@pytest.fixture
def module(tmp_path, monkeypatch):
    """Import a file from text, as the user's own module."""
    objects, names = dict(keras.saving.get_custom_objects()), []

    def make(source, name="users_layers", folder="."):
        (tmp_path / folder).mkdir(exist_ok=True)
        path = tmp_path / folder / f"{name}.py"
        path.write_text("import keras, os, sys, time\nimport numpy as np\n" + textwrap.dedent(source))
        spec = importlib.util.spec_from_file_location(name, path)
        made = importlib.util.module_from_spec(spec)
        monkeypatch.setitem(sys.modules, name, made)
        spec.loader.exec_module(made)
        names.append(name)
        return made

    yield make
    keras.saving.get_custom_objects().clear()
    keras.saving.get_custom_objects().update(objects)


@pytest.fixture
def elsewhere_of(tmp_path, backend):
    """Save a called layer, and load it in another process."""

    def go(layer, *args, references=None, allowed=QUICK, **kwargs):
        args = args or (X,)
        layer(*args)
        holder = holder_class()(layer)
        holder.built = True
        holder.save(tmp_path / "saved.keras")
        if references is None:
            references, reason = shipping.refer([type(layer)])
            assert reason is None
        return reload.load_and_call(tmp_path / "saved.keras", references, (args, kwargs), backend, allowed=allowed)

    return go


SCALE = """
class Scale(keras.layers.Layer):
    def build(self, shape):
        self.scale = self.add_weight(shape=(4,), initializer="uniform", name="scale")

    def call(self, x):
        return x * self.scale
"""


def test_a_saved_layer_comes_back_with_its_weights(module, elsewhere_of):
    layer = module(SCALE).Scale()
    found = elsewhere_of(layer, training=False)
    assert (found.error, found.skipped) == (None, None)
    np.testing.assert_allclose(found.outputs[0], keras.ops.convert_to_numpy(layer(X)), rtol=1e-6)


def test_random_state_that_is_not_saved_shows_as_a_difference(module, elsewhere_of):
    layer = module(
        """
        class Table(keras.layers.Layer):
            def build(self, shape):
                self.table = keras.ops.convert_to_numpy(keras.random.normal((4,)))
                self.more = np.random.normal(size=4)

            def call(self, x):
                return x * 0 + self.table, x * 0 + self.more
        """
    ).Table()
    first = elsewhere_of(layer).outputs
    for mine, theirs in zip(layer(X), first, strict=True):
        assert not np.allclose(keras.ops.convert_to_numpy(mine), theirs)
    # And it is the same difference each time: what is reported doesn't depend on luck.
    for one, other in zip(first, elsewhere_of(layer).outputs, strict=True):
        np.testing.assert_array_equal(one, other)


def test_classes_of_the_same_name_are_not_confused(module, elsewhere_of):
    source = "class Same(keras.layers.Layer):\n    def call(self, x):\n        return x * {}\n"
    for factor, folder in ((2, "a"), (3, "b"), (2, "a")):
        layer = module(source.format(factor), "same", folder).Same()
        np.testing.assert_array_equal(elsewhere_of(layer).outputs[0], X * factor)


def test_a_registered_class_is_forgotten_after_its_request(module, elsewhere_of):
    layer = module(
        "@keras.saving.register_keras_serializable('mine')\nclass Kept(keras.layers.Layer):\n"
        "    def call(self, x):\n        return x\n"
    ).Kept()
    np.testing.assert_array_equal(elsewhere_of(layer).outputs[0], X)
    found = elsewhere_of(layer, references=())
    assert found.outputs is None
    assert found.error.startswith("TypeError: Could not locate class 'Kept'.")


def test_what_a_library_registers_stays_for_the_next_request(elsewhere_of):
    keras_rs = pytest.importorskip("keras_rs")
    cross = keras_rs.layers.DotInteraction()
    for _ in range(2):
        found = elsewhere_of(cross, [X, X + 1])
        assert (found.error, found.skipped, found.outputs[0].shape) == (None, None, (2, 1))


def test_settings_and_modules_are_left_as_they_were(module, elsewhere_of):
    source = """
        keras.config.set_dtype_policy("float64")
        class Policy(keras.layers.Layer):
            def call(self, x):
                return x + ("left_behind" in sys.modules)
        sys.modules["left_behind"] = sys.modules[__name__]
        """
    layer = module(source, "left_behind").Policy(dtype="float32")
    keras.config.set_dtype_policy("float32")
    elsewhere_of(layer)
    found = elsewhere_of(
        module(
            """
            class Reads(keras.layers.Layer):
                def call(self, x):
                    other = len(keras.config.dtype_policy().name), "left_behind" in sys.modules
                    return x * 0 + np.asarray([*other, 0, 0], "float32")
            """,
            "reads",
        ).Reads()
    )
    assert found.outputs[0][0].tolist() == [len("float32"), 0, 0, 0]


def test_what_loading_raises_is_the_error_with_the_users_line(module, elsewhere_of):
    made = module(
        """
        class Fails(keras.layers.Layer):
            def __init__(self, units=None, **kwargs):
                super().__init__(**kwargs)
                if units is None and "reloader" in str(sys.modules["__main__"].__spec__):
                    raise ValueError("no units\\nat all")

            def call(self, x):
                return x
        """
    )
    found = elsewhere_of(made.Fails())
    assert found.error == "ValueError: no units"
    assert (found.path, found.line) == (made.__file__, 8)


def test_a_crash_and_a_hang_are_errors_and_the_next_request_is_served(module, elsewhere_of):
    made = module(
        """
        def _elsewhere():
            return "reloader" in str(sys.modules["__main__"].__spec__)

        class Leaves(keras.layers.Layer):
            def call(self, x):
                if _elsewhere():
                    os._exit(4)
                return x

        class Spins(keras.layers.Layer):
            def call(self, x):
                while _elsewhere():
                    pass
                return x

        class Exits(keras.layers.Layer):
            def call(self, x):
                if _elsewhere():
                    sys.exit("enough")
                return x
        """
    )
    found = elsewhere_of(made.Leaves())
    assert found.error == "the process that loaded it ended the process with status 4"
    assert (found.path, found.line) == (made.__file__, 10)
    found = elsewhere_of(made.Spins(), allowed=Limits(seconds=2))
    assert found.error == "the process that loaded it did not end within 2 s"
    assert found.path == made.__file__
    assert found.line in (5, 15, 16)
    assert elsewhere_of(made.Exits()).error == "SystemExit: enough"
    np.testing.assert_array_equal(
        elsewhere_of(module("class Fine(keras.layers.Layer):\n    def call(self, x): return x\n").Fine()).outputs[0], X
    )


def test_a_process_in_which_something_still_runs_is_replaced(module, elsewhere_of):
    made = module(
        """
        import threading
        class Pid(keras.layers.Layer):
            def call(self, x):
                return x * 0 + np.float64(os.getpid())

        class Starts(keras.layers.Layer):
            def call(self, x):
                if "reloader" in str(sys.modules["__main__"].__spec__):
                    threading.Thread(target=time.sleep, args=(600,), daemon=True).start()
                return x * 0 + np.float64(os.getpid())
        """
    )
    pids = [int(elsewhere_of(layer).outputs[0][0, 0]) for layer in (made.Pid(), made.Starts(), made.Pid())]
    assert pids[0] == pids[1] != pids[2]


def test_a_request_is_quick_once_a_like_one_was_served(module, elsewhere_of):
    layer = module(SCALE).Scale()
    seconds = [elsewhere_of(layer).seconds for _ in range(6)]
    # Some 0.05 s on a quiet machine; importing a framework takes seconds.
    assert min(seconds[1:]) < 0.5


def test_inputs_that_cannot_be_sent_are_a_reason_to_skip(tmp_path, backend):
    found = reload.load_and_call(tmp_path / "none.keras", (), ((threading.Lock(),), {}), backend)
    assert found == Reloaded(
        skipped="an input can't be sent to another process: TypeError: cannot pickle '_thread.lock' object"
    )


def test_a_module_that_cannot_be_imported_again_is_a_reason_to_skip(module, elsewhere_of):
    layer = module(SCALE).Scale()
    (reference,) = shipping.refer([type(layer)])[0]
    found = elsewhere_of(layer, references=[ModuleRef("nowhere_to_be_found")])
    assert found.skipped == (
        "`nowhere_to_be_found` can't be loaded in another process: "
        "ModuleNotFoundError: No module named 'nowhere_to_be_found'"
    )
    found = elsewhere_of(layer, references=[reference._replace(names=("Other",))])
    assert found.skipped == "`Other` isn't defined where `users_layers.py` is loaded in another process"


FACTOR = 2


def helper(x):
    return x + 1


class Base(keras.layers.Layer):
    pass


def test_a_class_in_a_function_is_sent_with_all_that_it_refers_to(elsewhere_of):
    offset, table = 10.0, {"a": [1, 2]}

    class Inner(Base):
        def call(self, x):
            return helper(x) * FACTOR

    class Outer(keras.layers.Layer):
        def __init__(self, *, bias: Unknown = 0.5, **kwargs):  # noqa: F821
            super().__init__(**kwargs)
            self.inner, self.bias = Inner(), bias

        def call(self, x):
            return self.inner(x) + offset + table["a"][1] + self.bias

    references, reason = shipping.refer([Outer])
    assert reason is None
    assert {ref.name for ref in references} == {__name__, "shipped"}
    np.testing.assert_array_equal(elsewhere_of(Outer()).outputs[0], (X + 1) * 2 + 10 + 2 + 0.5)


def test_a_class_that_closes_over_what_cannot_be_written_down_has_a_reason():
    table = np.ones(4)

    class Closed(keras.layers.Layer):
        def call(self, x):
            return x * table

    assert shipping.refer([Closed]) == ((), "`Closed` refers to `table`, a ndarray that can't be sent")


def test_a_class_body_that_needs_a_local_name_has_a_reason():
    units = 3

    class Local(keras.layers.Layer):
        size = units

        def call(self, x):
            return x

    assert shipping.refer([Local]) == ((), "`Local` refers to `units`, a local name where it is defined")


def test_a_class_without_source_has_a_reason():
    scope = {"__name__": "__main__"}
    exec("import keras\nclass Typed(keras.layers.Layer):\n    def call(self, x): return x", scope)
    assert shipping.refer([scope["Typed"]]) == (
        (),
        "`Typed` is defined in an interactive session, and its source isn't there",
    )


def test_a_class_of_a_notebook_cell_is_sent_though_the_main_module_has_a_file(monkeypatch, elsewhere_of):
    import linecache
    import types

    cell = "class Cell(keras.layers.Layer):\n    def call(self, x):\n        return x * gain\n"
    main = types.ModuleType("__main__")
    main.__file__, main.keras, main.gain = os.path.abspath(shipping.__file__), keras, 4
    monkeypatch.setitem(sys.modules, "__main__", main)
    monkeypatch.setitem(
        linecache.cache, "<ipython-input-1>", (len(cell), None, cell.splitlines(True), "<ipython-input-1>")
    )
    exec(compile(cell, "<ipython-input-1>", "exec"), vars(main))
    np.testing.assert_array_equal(elsewhere_of(main.Cell()).outputs[0], X * 4)


def test_a_class_of_the_script_that_runs_is_found_in_its_file_and_the_script_is_not_run(
    tmp_path, monkeypatch, elsewhere_of
):
    import types

    path = tmp_path / "script.py"
    path.write_text(
        "import keras\nclass Mine(keras.layers.Layer):\n    def call(self, x): return x + 1\nraise SystemExit(3)\n"
    )
    main = types.ModuleType("__main__")
    main.__file__ = str(path)
    monkeypatch.setitem(sys.modules, "__main__", main)
    with pytest.raises(SystemExit):
        exec(compile(path.read_text(), str(path), "exec"), vars(main))
    assert shipping.refer([main.Mine])[0] == (ModuleRef("__main__", str(path), None, ("Mine",)),)
    np.testing.assert_array_equal(elsewhere_of(main.Mine()).outputs[0], X + 1)


def test_registered_objects_that_a_saved_layer_holds_are_found_in_its_config(tmp_path):
    @keras.saving.register_keras_serializable("mine")
    class Start(keras.initializers.Initializer):
        def __call__(self, shape, dtype=None):
            return keras.ops.ones(shape, dtype)

    layer = keras.layers.Dense(2, kernel_initializer=Start())
    layer(X)
    holder = holder_class()(layer)
    holder.built = True
    holder.save(tmp_path / "saved.keras")
    assert list(elsewhere.registered_in(tmp_path / "saved.keras")) == [Start]


def test_a_system_without_process_groups_is_a_reason_to_skip(monkeypatch, tmp_path):
    with monkeypatch.context() as patched:
        patched.setattr(os, "name", "nt")
        patched.setattr(sys, "platform", "win32")
        reply = spare.Spare("jax").ask({}, QUICK)
    assert reply == {"skipped": "layerwright cannot start worker processes on this system. (win32)"}
