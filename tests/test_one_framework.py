"""One framework may be all there is: `check` works where the two others can't be imported."""

from __future__ import annotations

import importlib.util
import json
import os
from pathlib import Path

import child
import pytest

from layerwright.backends import BACKENDS

pytestmark = [pytest.mark.once, pytest.mark.slow]

# Read by every Python that starts, so that the frameworks are as good as not installed for layerwright's workers, too.
SITECUSTOMIZE = """
import os, sys
from importlib.machinery import PathFinder

HIDDEN = os.environ["TESTS_HIDDEN_PACKAGES"].split(",")


class Hiding(PathFinder):
    @classmethod
    def find_spec(cls, name, path=None, target=None):
        return None if name.partition(".")[0] in HIDDEN else PathFinder.find_spec(name, path, target)


sys.meta_path[sys.meta_path.index(PathFinder)] = Hiding
"""

LAYERS = """
import keras
from keras import ops


@keras.saving.register_keras_serializable("one_framework")
class Scale(keras.layers.Layer):
    def __init__(self, factor, **kwargs):
        super().__init__(**kwargs)
        self.factor = factor
        self.supports_masking = True

    def call(self, inputs):
        return ops.cast(inputs, self.compute_dtype) * self.factor

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "factor": self.factor}


@keras.saving.register_keras_serializable("one_framework")
class Forgetful(Scale):
    def get_config(self):
        return keras.layers.Layer.get_config(self)
"""

CHECK = """
import json
import layerwright as lw
import numpy as np
import small_layers

x = np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4)
reports = [lw.check(lambda: cls(3.0), x) for cls in (small_layers.Scale, small_layers.Forgetful)]
print(json.dumps([[r.backend, r.ok, [f.rule for f in r.findings]] for r in reports]))
"""


@pytest.fixture
def environment(tmp_path: Path):
    """The environment of a child in which only the named frameworks can be imported, and no backend is chosen."""
    (tmp_path / "sitecustomize.py").write_text(SITECUSTOMIZE)
    (tmp_path / "small_layers.py").write_text(LAYERS)
    (tmp_path / "home").mkdir()

    def only(*kept: str, **more: str) -> dict[str, str | None]:
        hidden = {name for name in (*BACKENDS, "jaxlib") if name.removesuffix("lib") not in kept}
        return {
            "PYTHONPATH": os.pathsep.join(filter(None, [str(tmp_path), os.environ.get("PYTHONPATH")])),
            "TESTS_HIDDEN_PACKAGES": ",".join(hidden),
            "KERAS_BACKEND": None,
            "KERAS_HOME": str(tmp_path / "home"),
            **more,
        }

    return only


@pytest.fixture(params=BACKENDS)
def name(request: pytest.FixtureRequest) -> str:
    """Each framework that is installed."""
    if importlib.util.find_spec(request.param) is None:
        pytest.skip(f"{request.param} isn't installed")
    return request.param


def test_check_works_where_one_framework_is_all_there_is(environment, name):
    # The user's file imports Keras first, and Keras' own default is TensorFlow, installed or not.
    good, bad = json.loads(child.output(CHECK, environment(name, KERAS_BACKEND=name)))
    assert good == [name, True, []]
    assert bad == [name, False, ["config-missing-arg"]]


def test_the_command_works_where_one_framework_is_all_there_is_and_runs_on_it(environment, name, tmp_path):
    words = ["layerwright", "check", str(tmp_path / "small_layers.py"), "--format", "json"]
    code = f"import sys; sys.argv = {words!r}; from layerwright.cli import main; main()"
    done = child.run(code, environment(name))
    assert done.returncode == 1, done.stderr
    assert '"config-missing-arg"' in done.stdout
    assert json.loads(done.stdout)["backends"].keys() == {name}


def test_the_default_backend_is_the_framework_that_is_installed(environment, name):
    assert child.output("from layerwright import backends; print(backends.running())", environment(name)) == name


@pytest.mark.parametrize("name", BACKENDS)
def test_a_hidden_framework_is_missing_in_a_child_and_in_the_child_of_a_child(environment, name):
    grandchild = f"import subprocess, sys; subprocess.run([sys.executable, '-c', 'import {name}'], check=True)"
    for code in (f"import {name}", grandchild):
        done = child.run(code, environment())
        assert done.returncode == 1
        assert f"ModuleNotFoundError: No module named '{name}'" in done.stderr


def test_without_a_framework_check_says_how_to_install_one(environment):
    code = """
import json
import layerwright as lw
try:
    lw.check(object)
except lw.LayerwrightError as error:
    print(json.dumps(str(error)))
"""
    assert json.loads(child.output(code, environment())) == (
        "No framework is installed for Keras to run on.\n"
        "  Expected: one of tensorflow, jax, torch\n"
        "  Got:      none of them can be imported\n"
        '  Fix:      pip install "layerwright[jax]" (or [tensorflow], or [torch]).'
    )
