"""Everything that isn't differentiated is refused at its line, with what to write instead."""

from __future__ import annotations

import math

import numpy as np
import pytest

from layerwright.autodiff import derive
from layerwright.errors import DifferentiationError, LayerwrightError

pytestmark = pytest.mark.once


def has_try(x, out):
    try:
        out[0] = x[0]
    except Exception:
        pass


def has_with(x, out):
    with open("f"):
        out[0] = x[0]


def has_lambda(x, out):
    f = lambda v: v * 2.0
    out[0] = f(x[0])


def has_inner_function(x, out):
    def f(v):
        return v

    out[0] = f(x[0])


def has_comprehension(x, out):
    out[0] = sum([v for v in x])


def has_dictionary(x, out):
    h = {1: 2.0}
    out[0] = x[0] * h[1]


def has_walrus(x, out):
    if (y := x[0]) > 0.0:
        out[0] = y


def has_loop_else(x, out):
    for i in range(3):
        out[i] = x[i]
    else:
        out[0] = 1.0


def has_complex(x, out):
    out[0] = abs(x[0] * 1j)


def has_sort(x, out):
    y = np.sort(x)
    out[0] = y[0]


def has_norm(x, out):
    out[0] = np.linalg.norm(x)


def has_divmod(x, out):
    out[0], out[1] = divmod(x[0], x[1])


def returns_a_value(x, out):
    out[0] = x[0]
    return x[0]


def writes_an_input(x, out):
    x[0] = 2.0
    out[0] = x[0]


def reads_its_output_first(x, out):
    for i in range(3):
        out[i] += x[i]


def reads_its_output_in_a_value(x, out):
    y = out[0]
    out[0] = x[0] * y


def writes_nothing(x, out):
    y = x[0]
    y = y * 2.0


def two_arrays_of_one_name(x, out):
    y = np.zeros(3)
    y[0] = x[0]
    y = np.zeros(4)
    out[0] = y[0]


def view_of_traded(x, out):
    a = np.zeros(3)
    b = np.zeros(3)
    v = a[1:]
    a, b = b, a
    v[0] = x[0]
    out[0] = a[1]


def trades_inside_of_its_loop(x, out):
    a = np.zeros(3)
    b = x.copy()
    for v in b:
        out[0] = v
        a, b = b, a


def scratch_that_grows(x, out):
    for i in range(1, 3):
        y = np.zeros(i)
        y[0] = x[i]
        out[i] = y[0] * 2.0


def overlapping(x, out):
    y = x.copy()
    y[1:] = y[:-1]
    out[0] = y[1]


def chooses_with_or(x, out):
    out[0] = x[0] or x[1]


def recursive(x):
    return x if x > 1.0 else recursive(x * 2.0)


def calls_itself(x, out):
    out[0] = recursive(x[0])


def some(x):
    if x > 0.0:
        return x


def helper_without_value(x, out):
    out[0] = some(x[0])


def star(x, *out):
    return x


def stretches(x, out):
    y = np.zeros((3, 3))
    y[:] = x
    out[0] = y[0, 0]


def whole_array_as_number(x, out):
    out[0] = math.exp(x)


def sums_in_a_check(x, out):
    assert np.sum(x) > 0.0
    out[0] = x[0]


def stands_alone(x, out):
    out[0] = x[0]
    np.random.shuffle(out)


def put(target, value):
    target[0] = value


def through_another(target):
    put(target, 5.0)
    return target[1]


def through_a_view(target):
    part = target[0:1]
    part[0] = 5.0
    return target[1]


def calls_what_writes(x, out):
    y = x.copy()
    out[0] = y[0] + through_another(y)


def calls_what_writes_a_part(x, out):
    y = x.copy()
    out[0] = y[0] + through_a_view(y)


CASES = {
    has_try: (1, "`has_try` has `try`, through which no derivative is taken."),
    has_with: (1, "`has_with` has `with`, through which no derivative is taken."),
    has_lambda: (1, "`has_lambda` has a `lambda`, through which no derivative is taken."),
    has_inner_function: (
        1,
        "`has_inner_function` has a function inside of the function, through which no derivative is taken.",
    ),
    has_comprehension: (1, "`has_comprehension` has a list comprehension, through which no derivative is taken."),
    has_dictionary: (1, "`has_dictionary` has a dictionary, through which no derivative is taken."),
    has_walrus: (1, "`has_walrus` has `:=`, through which no derivative is taken."),
    has_loop_else: (4, "`has_loop_else` has `else` after a loop, through which no derivative is taken."),
    has_complex: (1, "`has_complex` has a complex number, through which no derivative is taken."),
    has_sort: (1, "`np.sort` is called with a whole array."),
    has_norm: (1, "`np.linalg.norm` is called with a whole array."),
    has_divmod: (1, "`divmod(x[0], x[1])` is taken apart."),
    returns_a_value: (2, "`returns_a_value` returns a value, and writes its outputs."),
    writes_an_input: (1, "`writes_an_input` writes into its input `x`."),
    reads_its_output_first: (2, "The output `out` is read before it is written."),
    reads_its_output_in_a_value: (1, "The output `out` is read before it is written."),
    writes_nothing: (0, "The output `out` is never written."),
    two_arrays_of_one_name: (1, "`y` holds one array here and another there."),
    view_of_traded: (3, "`v` is a part of `a`, and arrays trade their names here."),
    trades_inside_of_its_loop: (3, "`b` becomes another array inside of the loop over it."),
    scratch_that_grows: (2, "`y` is made in a loop, and its size changes there."),
    overlapping: (2, "Parts of `y` that may overlap are read and written."),
    chooses_with_or: (1, "`x[0] or x[1]` chooses a number with `and` or `or`."),
    calls_itself: (-3, "`recursive` calls itself."),
    helper_without_value: (-3, "Not every path through the function returns a value."),
    star: (0, "`star` has the argument `out`, which isn't positional, through which no derivative is taken."),
    stretches: (2, "`y[:] = x` stretches an array along another dimension."),
    whole_array_as_number: (1, "`math.exp` is called with a whole array."),
    sums_in_a_check: (1, "`np.sum(x) > 0.0` adds up an array where that isn't looked for."),
    calls_what_writes: (2, "`through_another` writes into an array and is called inside of an expression."),
    calls_what_writes_a_part: (2, "`through_a_view` writes into an array and is called inside of an expression."),
    stands_alone: (2, "`np.random.shuffle(out)` stands alone, and what it changes isn't known."),
}


@pytest.mark.parametrize("function", CASES, ids=lambda f: f.__name__)
def test_refused_at_the_users_line(function):
    line, message = CASES[function]
    with pytest.raises(DifferentiationError) as raised:
        derive(function, None if function is star else "(n)->(n)")
    assert raised.value.message == message
    assert raised.value.where.startswith(f"{__file__}:{function.__code__.co_firstlineno + line}")
    assert raised.value.fix
    assert isinstance(raised.value, LayerwrightError)
    assert isinstance(raised.value, NotImplementedError)


def test_the_whole_text():
    with pytest.raises(DifferentiationError) as raised:
        derive(has_try, "(n)->(n)")
    line = has_try.__code__.co_firstlineno + 1
    assert str(raised.value) == (
        "`has_try` has `try`, through which no derivative is taken.\n"
        "  Got:      try:\n"
        "  Fix:      test the condition with `if` beforehand.\n"
        f"  Where:    {__file__}:{line}:5"
    )


def test_a_signature_that_isnt_the_functions():
    with pytest.raises(DifferentiationError, match="isn't one of `has_sort`"):
        derive(has_sort, "(n),(n)->(n)")
    with pytest.raises(DifferentiationError, match="2 arguments, and 3 dtypes"):
        derive(has_sort, "(n)->(n)", dtypes=["float64"] * 3)
