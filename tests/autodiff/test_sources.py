"""Functions from everywhere: files, closures, lambdas, decorators, `exec`, doctests, notebook cells."""

from __future__ import annotations

import doctest
import functools
import linecache
import math

import pytest

from layerwright.autodiff import derive, sources
from layerwright.errors import DifferentiationError

pytestmark = pytest.mark.once

SCALE = 3.0


def slope(function, x, **options):
    return derive(function, **options).function(x, 0.0, 1.0)


def cubed(x):
    """A docstring, and a comment."""
    # Three factors.
    return x * x * x


def made(k):
    def inner(x):
        return math.sin(k * x) * SCALE

    return inner


def test_a_function_of_a_file():
    assert slope(cubed, 2.0) == 12.0


def test_closures_and_globals_are_taken_with_their_values():
    assert slope(made(2.0), 0.3) == pytest.approx(6.0 * math.cos(0.6), rel=1e-15)
    assert slope(made(5.0), 0.3) == pytest.approx(15.0 * math.cos(1.5), rel=1e-15)


def test_a_lambda():
    assert slope(lambda x: x * x * x, 2.0) == 12.0


def test_each_of_two_lambdas_on_a_line():
    first, second = (lambda x: x + 1.0), (lambda x: x * 5.0)
    assert slope(first, 2.0) == 1.0
    assert slope(second, 2.0) == 5.0


def test_a_lambda_that_is_an_argument_of_a_call_over_several_lines():
    kept = functools.partial(
        map,
        lambda x: x**2,
    )
    assert slope(kept.args[0], 3.0) == 6.0


def doubled(function):
    @functools.wraps(function)
    def wrapper(x):
        return 2.0 * function(x)

    return wrapper


@doubled
def square(x):
    return x * x


def test_a_decorated_function_is_what_the_decorator_made_of_it():
    assert square(3.0) == 18.0
    assert slope(square, 3.0) == 12.0


class Dispatcher:
    """As Numba's: the function is `py_func`."""

    def __init__(self, function):
        self.py_func = function


def test_a_dispatcher_stands_for_its_function():
    assert slope(Dispatcher(cubed), 2.0) == 12.0


TEXT = "def third(x):\n    return x * x * x\n"


def executed(text):
    namespace = {}
    exec(text, namespace)
    return namespace["third"]


def test_a_function_made_by_exec_needs_its_text():
    function = executed(TEXT)
    with pytest.raises(DifferentiationError) as raised:
        derive(function)
    assert str(raised.value) == (
        "The source of `third` isn't there.\n"
        "  Got:      a function of <string>\n"
        "  Fix:      define it in a file or a notebook cell, or give its text: `derive(f, source=...)`."
    )
    assert slope(function, 2.0, source=TEXT) == 12.0
    function.__source__ = TEXT
    assert slope(function, 2.0) == 12.0


def test_a_notebook_cell_is_known_by_its_name():
    file = "<ipython-input-1-abc>"
    linecache.cache[file] = (len(TEXT), None, TEXT.splitlines(keepends=True), file)
    namespace = {}
    exec(compile(TEXT, file, "exec"), namespace)
    assert slope(namespace["third"], 2.0) == 12.0


def in_a_docstring():
    """
    >>> def third(x):
    ...     return x * x * x
    >>> slope(third, 2.0)
    12.0
    """


def test_a_function_of_a_doctest():
    example = doctest.DocTestFinder().find(in_a_docstring, globs={"slope": slope})[0]
    result = doctest.DocTestRunner(verbose=False).run(example)
    assert (result.attempted, result.failed) == (2, 0)


def test_a_text_that_has_changed_since_is_refused():
    file = "<changed>"
    namespace = {}
    exec(compile(TEXT, file, "exec"), namespace)
    other = TEXT.replace("x * x * x", "x + x")
    linecache.cache[file] = (len(other), None, other.splitlines(keepends=True), file)
    with pytest.raises(DifferentiationError, match="isn't that of the function"):
        derive(namespace["third"])


def test_what_is_no_function_is_refused():
    with pytest.raises(DifferentiationError, match="made of a Python function"):
        derive(3)


def test_every_node_knows_its_line_in_the_file():
    read = sources.read(cubed)
    assert read.line(read.tree.body[-1].lineno) == "return x * x * x"
