"""Every kernel of the gallery: gradient, tangent and second derivatives, by differences and by each other."""

from __future__ import annotations

import numpy as np
import pytest
from autodiff.gallery_arrays import SPECS
from autodiff.gallery_numbers import NUMBERS

from layerwright.autodiff import derive

pytestmark = pytest.mark.once
STEPS = (1e-4, 1e-5, 1e-6)


def points(kinds, seed):
    rng = np.random.default_rng(seed)
    return [int(rng.integers(1, 6)) if kind == "i" else float(rng.normal()) for kind in kinds]


def values(function, given):
    found = function(*given)
    return np.array(found if isinstance(found, tuple) else [found], "float64")


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_gradients_of_numbers(function):
    kinds = NUMBERS[function]
    dtypes = ["int64" if k == "i" else "float64" for k in kinds]
    derivative = derive(function, dtypes=dtypes)
    smooth = 0
    for seed in range(12):
        given = points(kinds, seed)
        y = values(function, given)
        ct = np.random.default_rng(seed + 100).normal(size=y.size)
        found = derivative.function(*given, *y, *ct)
        found = np.array(found if isinstance(found, tuple) else [found])
        wanted = [slopes(function, given, k, ct) if kind == "f" else np.zeros(1) for k, kind in enumerate(kinds)]
        near = [
            min(abs(w - f) / max(1.0, abs(w)) for w in np.atleast_1d(ws)) for ws, f in zip(wanted, found, strict=True)
        ]
        smooth += max(near) < 1e-6
        moved = np.random.default_rng(seed + 200).normal(size=kinds.count("f"))
        tangents = np.atleast_1d(derivative.tangent.function(*given, *moved))
        floats = found[[k for k, kind in enumerate(kinds) if kind == "f"]]
        assert tangents @ ct == pytest.approx(floats @ moved, rel=1e-10, abs=1e-12)
    # A point or two may lie so near to a branch's edge that differences go across it.
    assert smooth >= 10


def slopes(function, given, k, ct):
    found = []
    for step in STEPS:
        ends = []
        for sign in (1.0, -1.0):
            moved = list(given)
            moved[k] += sign * step
            ends.append(values(function, moved) @ ct)
        found.append((ends[0] - ends[1]) / (2 * step))
    return np.array(found)


@pytest.mark.parametrize("function", NUMBERS, ids=lambda f: f.__name__)
def test_second_derivatives_of_numbers(function):
    kinds = NUMBERS[function]
    derivative = derive(function, dtypes=["int64" if k == "i" else "float64" for k in kinds])
    n = len(kinds)
    right = 0
    for seed in range(6):
        given = points(kinds, seed)
        y = values(function, given)
        rng = np.random.default_rng(seed)
        ct, v = rng.normal(size=y.size), rng.normal(size=n)
        first = np.atleast_1d(derivative.function(*given, *y, *ct))
        second = np.array(derivative.second.function(*given, *y, *ct, *first, *v))
        assert second.size == n + 2 * y.size

        def total(*moved, v=v, y=y):
            return float(np.atleast_1d(derivative.function(*moved[:n], *y, *moved[n:])) @ v)

        point = [*given, *ct]
        wanted = []
        for k in [k for k, kind in enumerate(kinds) if kind == "f"] + list(range(n, n + y.size)):
            ends = []
            for sign in (1.0, -1.0):
                moved = list(point)
                moved[k] += sign * 1e-5
                ends.append(total(*moved))
            wanted.append((ends[0] - ends[1]) / 2e-5)
        got = [second[k] for k, kind in enumerate(kinds) if kind == "f"] + list(second[n + y.size :])
        right += np.allclose(got, wanted, rtol=1e-5, atol=1e-5)
    assert right >= 5


class Arrays:
    """A kernel of arrays at a point."""

    def __init__(self, name, seed=0):
        self.spec = SPECS[name]
        rng = np.random.default_rng(seed)
        self.inputs = self.spec.inputs(rng)
        for x in self.inputs:
            if isinstance(x, np.ndarray):
                x.flags.writeable = False
        self.floats = [k for k, x in enumerate(self.inputs) if np.asarray(x).dtype.kind == "f"]
        self.directions = [rng.normal(size=np.shape(x)) for x in self.inputs]
        self.cotangents = [rng.normal(size=shape) for shape in self.spec.outputs]
        for ct in self.cotangents:
            ct.flags.writeable = False
        self.derivative = derive(self.spec.function, self.spec.signature, dtypes=self.spec.dtypes)

    def given(self, directions, h):
        return [x + h * directions[k] if k in self.floats else x for k, x in enumerate(self.inputs)]

    def values(self, inputs):
        outputs = [np.full(shape, np.nan) for shape in self.spec.outputs]
        self.spec.function(*inputs, *outputs)
        return outputs

    def gradients(self, inputs=None, cotangents=None):
        inputs = self.inputs if inputs is None else inputs
        found = [np.full(np.shape(x) or (1,), np.nan) for x in self.inputs]
        outputs = self.values(inputs)
        for out in outputs:
            out.flags.writeable = False
        self.derivative.function(*inputs, *outputs, *(cotangents or self.cotangents), *found)
        return found


each = pytest.mark.parametrize("name", SPECS)


def inner(a, b):
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in zip(a, b, strict=True)))


@each
def test_gradients_of_arrays(name):
    one = Arrays(name)
    found = one.gradients()
    assert all(np.isfinite(g).all() for g in found)
    tangents = [np.full(shape, np.nan) for shape in one.spec.outputs]
    moved = [one.directions[k] for k in one.floats]
    one.derivative.tangent.function(*one.inputs, *moved, *one.values(one.inputs), *tangents)
    got = inner([found[k].reshape(np.shape(one.inputs[k])) for k in one.floats], moved)
    assert got == pytest.approx(inner(one.cotangents, tangents), rel=1e-11, abs=1e-13)
    for k in one.floats:
        for index in np.ndindex(np.shape(one.inputs[k])):
            unit = [np.zeros(np.shape(x)) for x in one.inputs]
            unit[k][index] = 1.0
            slopes = [
                inner(one.cotangents, one.values(one.given(unit, h)))
                - inner(one.cotangents, one.values(one.given(unit, -h)))
                for h in STEPS
            ]
            near = min(abs(s / (2 * h) - found[k][index or 0]) for s, h in zip(slopes, STEPS, strict=True))
            assert near <= 1e-6 * max(1.0, abs(found[k][index or 0])), (k, index)


@each
def test_second_derivatives_of_arrays(name):
    one = Arrays(name, seed=1)
    rng = np.random.default_rng(7)
    v = [rng.normal(size=np.shape(x) or (1,)) for x in one.inputs]
    back = [np.full(np.shape(x) or (1,), np.nan) for x in one.inputs] + [
        np.full(s, np.nan) for s in one.spec.outputs * 2
    ]
    outputs = one.values(one.inputs)
    one.derivative.second.function(*one.inputs, *outputs, *one.cotangents, *one.gradients(), *v, *back)
    assert all(np.isfinite(b).all() for b in back)
    u, du = one.directions, [rng.normal(size=s) for s in one.spec.outputs]
    count = len(one.inputs) + len(outputs)
    got = sum(float(np.sum(back[k].reshape(np.shape(u[k])) * u[k])) for k in one.floats) + inner(back[count:], du)

    def along(h):
        cotangents = [c + h * d for c, d in zip(one.cotangents, du, strict=True)]
        found = one.gradients(one.given(u, h), cotangents)
        return sum(float(np.sum(found[k] * v[k])) for k in one.floats)

    near = min(abs((along(h) - along(-h)) / (2 * h) - got) for h in STEPS)
    assert near <= 1e-5 * max(1.0, abs(got))


def test_the_gallery_is_large():
    assert len(SPECS) + len(NUMBERS) >= 60
