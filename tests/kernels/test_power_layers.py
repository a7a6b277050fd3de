"""The example of a layer with a kernel: it trains, its weight's gradient is the batch's, it checks clean."""

from __future__ import annotations

import importlib.util
import sys
from pathlib import Path

import keras
import numpy as np
import pytest
from kernels import frameworks

import layerwright as lw

EXAMPLE = Path(__file__).parents[2] / "examples" / "power_layers.py"


@pytest.fixture(scope="module")
def example():
    spec = importlib.util.spec_from_file_location("power_layers", EXAMPLE)
    module = importlib.util.module_from_spec(spec)
    sys.modules[spec.name] = module
    spec.loader.exec_module(module)
    return module


def test_the_model_learns_and_comes_back_from_a_file(example, tmp_path):
    model, losses = example.train()
    assert losses[-1] < losses[0] / 100
    model.save(tmp_path / "model.keras")
    x = np.linspace(0.5, 1.2, 7, dtype="float32")[:, None]
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))


def test_the_gradient_of_the_shared_weight_is_summed_over_the_batch(example):
    x = np.array([[1.0], [2.0], [3.0]], "float32")
    tensors = [frameworks.tensor(np.float32(0.5)), frameworks.tensor(x)]
    d_p, d_x = frameworks.gradients(lambda p, x: keras.ops.sum(example.power(p, x)), tensors)
    assert d_p.shape == ()
    assert float(d_p) == 1.0 + 4.0 + 9.0
    np.testing.assert_allclose(d_x, x)


@pytest.mark.slow
def test_the_layer_passes_every_check(example):
    report = lw.check(example.Power, np.ones((4, 3), "float32"))
    assert report.findings == (), str(report)
