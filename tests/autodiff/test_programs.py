"""Random programs: no derivative is ever wrong, with the passes that make tapes lean and without each of them."""

from __future__ import annotations

from collections import Counter

import pytest
from autodiff import programs

from layerwright.autodiff import gufunc
from layerwright.autodiff.gufunc import Passes
from layerwright.errors import DifferentiationError

pytestmark = pytest.mark.once

COUNT = 300
PART = 30


@pytest.mark.parametrize("first", range(0, COUNT, PART))
def test_random_programs_have_right_derivatives(first):
    verdicts = Counter(
        programs.trial(seed, second=seed % 10 == 0).partition(":")[0] for seed in range(first, first + PART)
    )
    assert verdicts["right"] >= 0.8 * PART, verdicts
    assert verdicts["refused"] <= 0.2 * PART, verdicts


@pytest.mark.parametrize("seed", [0, 2, 3, 5, 8, 9])
@pytest.mark.parametrize(
    "passes",
    [
        Passes(record=False),
        Passes(locals=False),
        Passes(once=False),
        Passes(reorder=False),
        Passes(False, False, False, False),
    ],
    ids=["record", "locals", "once", "reorder", "all"],
)
def test_gradients_are_the_same_without_a_pass(seed, passes, monkeypatch):
    text = (programs.Tables if seed % 3 == 2 else programs.General)(seed).text()
    try:
        lean = programs.Trial(text, seed).pulled()
    except DifferentiationError:
        pytest.skip("refused")
    whole = gufunc.gradient
    monkeypatch.setattr(gufunc, "gradient", lambda *args: whole(*args, passes))
    plain = programs.Trial(text, seed).pulled()
    for a, b in zip(lean, plain, strict=True):
        assert a == pytest.approx(b, rel=1e-9, abs=1e-11)


def test_the_check_sees_a_wrong_gradient(monkeypatch):
    right = programs.Trial.pulled

    def wrong(self):
        found = right(self)
        found[0][1] += 1e-5
        return found

    monkeypatch.setattr(programs.Trial, "pulled", wrong)
    with pytest.raises(programs.WrongError, match="gradient"):
        programs.trial(0)
