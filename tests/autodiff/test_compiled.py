"""Derived functions as machine code: the same numbers, types that stay, and no global lock."""

from __future__ import annotations

import math

import numpy as np
import pytest
from autodiff import programs
from autodiff.gallery_arrays import SPECS
from autodiff.gallery_numbers import NUMBERS

from layerwright.autodiff import derive, stop_gradient
from layerwright.errors import DifferentiationError
from layerwright.kernels.types_of import compiled, types_of

pytestmark = pytest.mark.once

CHOSEN = ("crf_forward", "stops_early", "convolution_2d")


@pytest.mark.parametrize("name", CHOSEN)
def test_the_gallery_gives_the_same_compiled(name):
    spec = SPECS[name]
    inputs = spec.inputs(np.random.default_rng(0))
    derivative = derive(spec.function, spec.signature, dtypes=spec.dtypes, oracle=types_of)
    outputs = [np.zeros(shape) for shape in spec.outputs]
    spec.function(*inputs, *outputs)
    cotangents = [np.random.default_rng(1).normal(size=shape) for shape in spec.outputs]
    for array in (*inputs, *outputs, *cotangents):
        if isinstance(array, np.ndarray):
            array.flags.writeable = False
    plain, machine = ([np.full(np.shape(x) or (1,), np.nan) for x in inputs] for _ in range(2))
    derivative.function(*inputs, *outputs, *cotangents, *plain)
    compiled(derivative.function)(*inputs, *outputs, *cotangents, *machine)
    for a, b in zip(plain, machine, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-10, atol=1e-13)


@pytest.mark.parametrize("function", list(NUMBERS)[:4], ids=lambda f: f.__name__)
def test_numbers_give_the_same_compiled(function):
    derivative = derive(function, oracle=types_of)
    machine = compiled(derivative.function)
    for seed in range(5):
        given = np.random.default_rng(seed).normal(size=2)
        wanted = derivative.function(*map(float, given), 0.0, 1.3)
        assert machine(*given, 0.0, 1.3) == pytest.approx(wanted, rel=1e-12)


@pytest.mark.slow
def test_a_random_program_compiled():
    assert programs.trial(5, second=False, run=compiled) == "right"


def mean_of_squares(x, scale, out):
    total = x[0] - x[0]
    for v in x:
        total += v * v * scale
    out[0] = total


def test_float32_stays_float32_and_numbers_gradients_add_up_in_float64():
    derivative = derive(mean_of_squares, "(n),()->()", dtypes="float32", oracle=types_of)
    n = 300_000
    x = np.full(n, 0.1, "float32")
    x[0] = 100.0
    found = [np.empty(n, "float32"), np.empty(1, "float32")]
    one = np.float32(1.0)
    compiled(derivative.function)(x, one, np.zeros(1, "float32"), np.ones(1, "float32"), *found)
    exact = float(np.sum(x.astype("float64") ** 2))
    assert abs(found[1][0] - exact) <= 1e-6 * exact
    assert derivative.of is not None
    types = types_of(
        derivative.of.tree.body,
        derivative.types,
        derivative.of.namespace,
    )
    assert types["total"].bits == 32


def rooted(x):
    return math.sqrt(x) + stop_gradient(x)


def test_conventions_hold_compiled():
    machine = compiled(derive(rooted).function)
    assert machine(0.0, 0.0, 1.0) == math.inf
    assert machine(0.0, 0.0, 0.0) == 0.0
    assert machine(4.0, 0.0, 1.0) == 0.25


def test_second_order_compiled():
    spec = SPECS["exponential_average"]
    derivative = derive(spec.function, spec.signature, oracle=types_of)
    x, decay, ct = np.arange(4.0), 0.8, np.ones(4)
    given = (x, decay, np.zeros(4), ct, np.zeros(4), np.zeros(1), np.ones(4), np.ones(1))
    plain, machine = ([np.full(n, np.nan) for n in (4, 1, 4, 4)] for _ in range(2))
    derivative.second.function(*given, *plain)
    compiled(derivative.second.function)(*given, *machine)
    for a, b in zip(plain, machine, strict=True):
        np.testing.assert_allclose(b, a, rtol=1e-12)


def adds_text(x, out):
    y = x[0]
    for i in range(3):
        y = y + "a" if i == 5 else y
    out[0] = y


def test_what_numba_cant_type_is_refused_at_its_line():
    with pytest.raises(DifferentiationError, match="Numba can't type `adds_text`") as raised:
        derive(adds_text, "(n)->(n)", oracle=types_of)
    assert raised.value.where.startswith(f"{__file__}:{adds_text.__code__.co_firstlineno + 3}")
