"""The table of rules: every entry against differences, the conventions, and rules of one's own."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layerwright.autodiff import derive, rules
from layerwright.derivatives import rule, stop_gradient, straight_through
from layerwright.errors import DifferentiationError

pytestmark = pytest.mark.once

# Where a function isn't defined everywhere.
POINTS = {
    "acosh": (1.3, 2.5),
    "arccosh": (1.3, 2.5),
    "log": (0.3, 2.0),
    "log2": (0.3, 2.0),
    "log10": (0.3, 2.0),
    "log1p": (-0.3, 2.0),
    "sqrt": (0.3, 2.0),
    "cbrt": (0.3, -2.0),
    "pow": (0.7, 2.5),
    "power": (0.7, 2.5),
    "float_power": (0.7, 2.5),
}
PLAIN = (-0.7, 0.3, 0.8)
CHOSEN = [f for f in rules._TABLE if getattr(f, "__name__", "") not in ("stop_gradient", "straight_through", "float32")]


def called(function, count):
    """A function that calls one."""
    names = ", ".join("xy"[:count])
    text = f"def loop({names}):\n    return function({names})\n"
    namespace = {"function": function}
    exec(text, namespace)
    return derive(namespace["loop"], source=text).function


@pytest.mark.parametrize("function", CHOSEN, ids=lambda f: f"{getattr(f, '__module__', 'np')}.{f.__name__}")
def test_every_rule_is_the_slope(function):
    count = len(rules.rule_of(function).arguments)
    gradient = called(function, count)
    points = POINTS.get(function.__name__, PLAIN)
    for x in points:
        given = [x, 1.7 if x > 0 else -1.7][:count]
        if "pow" in function.__name__:
            given = [abs(x), 1.7]
        found = gradient(*given, 0.0, 1.0)
        for k, got in enumerate(found if count > 1 else [found]):
            ends = []
            for h in (1e-6, -1e-6):
                moved = list(given)
                moved[k] += h
                ends.append(float(function(*moved)))
            assert got == pytest.approx((ends[0] - ends[1]) / 2e-6, rel=1e-6, abs=1e-8)


def slope(function, *args, d=1.0):
    found = derive(function).function(*args, 0.0, d)
    return found


def root(x):
    return math.sqrt(x)


def absolute(x):
    return abs(x)


def larger(a, b):
    return max(a, b)


def smaller(a, b):
    return min(a, b)


def powered(x, p):
    return x**p


def squared(x):
    return x**2


def to_the_fifth_half(x):
    return x**2.5


def to_the_half(x):
    return x**0.5


def rounded(x):
    return round(x) + math.floor(x) + math.ceil(x) + np.sign(x)


def guarded(x):
    return math.sqrt(x) if x > 0.0 else 0.0


def where(x):
    return np.where(x > 0.0, np.sqrt(x), 0.0)


def clipped(x):
    return min(max(x, 0.0), 1.0)


def distance(x, y):
    return math.hypot(x, y)


def inverse_sine(x):
    return math.asin(x)


def remainder(x, y):
    return x % y


@pytest.mark.parametrize(
    ("function", "at", "gradient"),
    [
        (absolute, (0.0,), 0.0),
        (larger, (1.0, 1.0), (1.0, 0.0)),
        (smaller, (1.0, 1.0), (1.0, 0.0)),
        (root, (0.0,), math.inf),
        (powered, (0.0, 2.0), (0.0, 0.0)),
        (powered, (0.0, 1.0), (1.0, 0.0)),
        (powered, (0.0, 0.0), (0.0, 0.0)),
        (powered, (0.0, 0.5), (math.inf, 0.0)),
        (powered, (-2.0, 2.0), (-4.0, 0.0)),
        (squared, (0.0,), 0.0),
        (to_the_fifth_half, (0.0,), 0.0),
        (to_the_half, (0.0,), math.inf),
        (rounded, (0.4,), 0.0),
        (guarded, (0.0,), 0.0),
        (guarded, (-1.0,), 0.0),
        (where, (0.0,), 0.0),
        (where, (-1.0,), 0.0),
        (clipped, (0.0,), 1.0),
        (clipped, (1.0,), 1.0),
        (clipped, (1.5,), 0.0),
        (distance, (0.0, 0.0), (0.0, 0.0)),
        (inverse_sine, (1.0,), math.inf),
        (remainder, (7.5, 2.0), (1.0, -3.0)),
        (remainder, (-7.5, 2.0), (1.0, 4.0)),
    ],
)
def test_conventions_where_there_is_no_derivative(function, at, gradient):
    assert slope(function, *at) == gradient


@pytest.mark.parametrize("function", [root, to_the_half, inverse_sine])
def test_nothing_comes_of_an_infinite_slope_where_the_cotangent_is_0(function):
    assert slope(function, 1.0 if function is inverse_sine else 0.0, d=0.0) == 0.0


def reverse_root(x, out):
    for i in range(x.shape[0]):
        out[i] = math.sqrt(x[i]) * (0.0 if x[i] == 0.0 else 1.0)
        out[i] += math.sqrt(x[i]) if x[i] > 0.0 else 0.0
        out[i] += max(math.sqrt(x[i]), 0.5) * 0.0


def test_backward_an_unused_branch_makes_no_nan():
    gradient = np.full(3, np.nan)
    derive(reverse_root, "(n)->(n)").function(np.array([0.0, 4.0, 0.0]), np.zeros(3), np.ones(3), gradient)
    assert gradient.tolist() == [0.0, 0.5, 0.0]


def softplus(x):
    if x > 30.0:
        return x
    return math.log1p(math.exp(x))


@rule(softplus)
def _(x, result):
    return 10.0 * (1.0 - math.exp(-result)) + 0.0 * x


def uses_softplus(a, x):
    return a * softplus(a * x)


def test_a_rule_of_ones_own_stands_in_for_the_functions_source():
    a, x = 0.7, 0.3
    value = softplus(a * x)
    partial = 10.0 * (1.0 - math.exp(-value))
    assert slope(uses_softplus, a, x) == pytest.approx((value + a * partial * x, a * partial * a), rel=1e-15)


def test_rules_that_cant_be_read_are_refused():
    with pytest.raises(DifferentiationError, match="1 partials, 3 arguments"):
        rule(larger)(lambda a, b, r: a)

    def long(x, r):
        y = x
        return y + r

    with pytest.raises(DifferentiationError, match="more than one returned expression"):
        rule(root)(long)


def stopped(x):
    return x * stop_gradient(x)


def straight(x):
    return straight_through(math.floor(x), x) * 3.0


def test_stop_gradient_and_straight_through():
    assert stopped(5.0) == 25.0
    assert slope(stopped, 5.0) == 5.0
    assert straight(1.7) == 3.0
    assert slope(straight, 1.7) == 3.0


def test_a_function_without_a_rule_is_refused_where_something_depends_on_it():
    def unknown(x):
        y = x
        return math.gamma(y)

    with pytest.raises(DifferentiationError) as raised:
        derive(unknown)
    assert raised.value.message == "`math.gamma` has no rule for its derivative."
    assert raised.value.fix == "give one with `@lw.derivatives.rule(math.gamma)`, or compute it otherwise."
    line = unknown.__code__.co_firstlineno + 2
    assert raised.value.where == f"{__file__}:{line}:16"

    def constant(x):
        return x * math.gamma(3.0)

    assert slope(constant, 5.0) == 2.0
