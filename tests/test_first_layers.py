"""The example that the demonstration checks: four faults, each found under its own name, and three sound layers."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import layerwright as lw

pytestmark = pytest.mark.slow

EXAMPLE = Path(__file__).parent.parent / "examples" / "first_layers.py"
VECTORS = np.random.default_rng(0).normal(size=(2, 6)).astype("float32")
SERIES = np.random.default_rng(0).normal(size=(2, 5, 6)).astype("float32")


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("first_layers", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


@pytest.mark.parametrize(
    ("name", "arguments", "rule"),
    [
        ("GatedDense", {"units": 3, "activation": "relu"}, "config-missing-arg"),
        ("ResidualStack", {"depth": 2}, "untracked-layer"),
        ("RegularizedHead", {"units": 3}, "training-hardcoded"),
        pytest.param("LogScale", {}, "numpy-in-call", marks=pytest.mark.backend("tensorflow", "jax")),
    ],
)
def test_a_faulty_layer_of_the_example_has_one_fault(example, name, arguments, rule):
    report = lw.check(lambda: getattr(example, name)(**arguments), VECTORS)
    assert [f.rule for f in report.findings if f.severity != "note"] == [rule]


@pytest.mark.parametrize(
    ("name", "inputs"), [("RootMeanSquareNorm", SERIES), ("MaskedMean", SERIES), ("SmallClassifier", VECTORS)]
)
def test_a_sound_layer_of_the_example_has_none(example, name, inputs):
    report = lw.check(getattr(example, name), inputs)
    assert report.ok, str(report)
