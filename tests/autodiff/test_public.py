"""What users type, and what it costs to load."""

from __future__ import annotations

import ast
import doctest

import child
import pytest

import layerwright as lw
from layerwright.autodiff import derive, rules

pytestmark = pytest.mark.once


def test_the_room_has_the_names():
    assert {"derive", "rule", "stop_gradient", "straight_through"} <= set(dir(lw.derivatives))
    assert lw.derivatives.derive is derive
    assert "derivatives" in dir(lw)


def test_it_runs_without_numba_and_without_a_framework():
    code = (
        "import layerwright as lw\n"
        "def power(p, x):\n"
        "    return p * x**2\n"
        "lw.derivatives.derive(power, source='def power(p, x):\\n    return p * x**2').function(1.0, 2.0, 4.0, 1.0)\n"
        "import sys\n"
        "print(sorted(set(sys.modules) & {'numba', 'keras', 'jax', 'torch', 'tensorflow'}))"
    )
    assert ast.literal_eval(child.output(code)) == []


@pytest.mark.parametrize("module", [rules, derive.__globals__], ids=["rule", "derive"])
def test_the_documented_examples(module):
    target = rules.rule if module is rules else derive
    found = [
        t
        for t in doctest.DocTestFinder().find(target, globs=vars(rules).copy() if module is rules else dict(module))
        if t.examples
    ]
    assert len(found) == 1
    result = doctest.DocTestRunner(verbose=False).run(found[0])
    assert result.attempted > 1
    assert result.failed == 0


def test_a_derivative_shows_itself():
    def twice(x):
        return 2.0 * x

    assert repr(derive(twice)) == "<derived twice_backward(x, y, d_y)>"
    assert derive(twice)(1.0, 2.0, 1.0) == 2.0
