"""Each pass by itself, on the smallest loop that shows what it does."""

from __future__ import annotations

import ast
import math

import numpy as np
import pytest

from layerwright.autodiff import derive, sources, types
from layerwright.autodiff.desugar import desugar
from layerwright.autodiff.indexing import Accesses, distinct, lowest, never_read_before, written_once
from layerwright.autodiff.inline import inline
from layerwright.autodiff.program import program
from layerwright.autodiff.returns import without_returns
from layerwright.autodiff.syntax import Names, rebuild

pytestmark = pytest.mark.once


def text_after(function, *passes):
    made = program(sources.read(function))
    for one in passes:
        one(made)
    return [line for s in made.body for line in ast.unparse(ast.fix_missing_locations(s)).splitlines()]


def source_of(function, signature="(n)->(n)", **options):
    return derive(function, signature, **options).source


def code(source):
    """The lines without comments and indentation."""
    return [line.strip() for line in source.splitlines() if not line.strip().startswith("#")]


# -- names
def test_a_name_is_given_once():
    names = Names({"d_x"})
    assert [names.fresh("d_x") for _ in range(3)] == ["d_x_2", "d_x_3", "d_x_4"]


def test_a_rebuilt_tree_leaves_the_first_as_it_is():
    tree = ast.parse("a + b", mode="eval").body
    new = rebuild(tree, lambda n: ast.Name("c", ast.Load()) if isinstance(n, ast.Name) else None)
    assert (ast.unparse(tree), ast.unparse(new)) == ("a + b", "c + c")


# -- inlining
def twice(v):
    return v + v


def calls_in_a_test(x):
    while twice(x) < 5.0 and x > 0.0:
        x = x * 2.0
    return x


def test_a_call_in_a_loops_test_is_made_in_each_round():
    assert text_after(calls_in_a_test, inline) == [
        "while True:",
        "    twice_2 = x + x",
        "    test = twice_2 < 5.0",
        "    if test:",
        "        test = x > 0.0",
        "    if not test:",
        "        break",
        "    x = x * 2.0",
        "return x",
    ]


SCALE = 2.0


def scaled(SCALE):
    return SCALE * 3.0


def clashes(x):
    v = scaled(x)
    return v * SCALE


def test_names_of_a_helper_and_of_around_dont_meet():
    assert derive(clashes).function(5.0, 0.0, 1.0) == 6.0


# -- returns
def many_ends(x):
    for k in range(3):
        if x > k:
            return x
        x = x + 1.0
    return x * 2.0


def test_return_inside_of_a_loop_is_a_flag_and_a_break():
    body = sources.read(many_ends).tree.body
    ending = without_returns(body, Names(["x", "k"]), "result")
    assert "\n".join(ast.unparse(ast.fix_missing_locations(s)) for s in ending.body) == (
        "done = False\n"
        "for k in range(3):\n"
        "    if x > k:\n"
        "        result = x\n"
        "        done = True\n"
        "        break\n"
        "    x = x + 1.0\n"
        "if not done:\n"
        "    result = x * 2.0\n"
        "    done = True"
    )


# -- desugaring
def sugar(x, y, out):
    n, m = x.shape
    a = b = 1.0
    a, b = b, a + x[0][0]
    a += a * 2.0
    for i, (p, q) in enumerate(zip(y, y)):
        out[i] = p * q + a
    for i in range(2):
        i += 1
        out[i] = np.where(i > 0, b, 0.0)


def test_sugar_becomes_plain_statements():
    assert text_after(sugar, desugar) == [
        "n = x.shape[0]",
        "m = x.shape[1]",
        "value = 1.0",
        "a = value",
        "b = value",
        "a_new = b",
        "b_new = a + x[0, 0]",
        "a = a_new",
        "b = b_new",
        "a = a + a * 2.0",
        "for k in range(min(y.shape[0], y.shape[0])):",
        "    i = k",
        "    p = y[k]",
        "    q = y[k]",
        "    out[i] = p * q + a",
        "for i_2 in range(2):",
        "    i = i_2",
        "    i += 1",
        "    out[i] = b if i > 0 else 0.0",
    ]


def keeps_its_variable(x, out):
    for i in range(3):
        out[i] = x[i]
    last = i
    for i in range(last):
        out[i] *= x[last]


def test_a_loops_variable_is_there_after_the_loop():
    given, gradient = np.array([2.0, 3.0, 5.0]), np.empty(3)
    derive(keeps_its_variable, "(n)->(n)").function(given, np.empty(3), np.ones(3), gradient)
    assert gradient.tolist() == [5.0, 5.0, 1.0 + 2.0 + 3.0]


# -- types
def integer_then_float(x, out):
    s = 0
    k = 3
    for i in range(3):
        s = s + x[i] * k // 2 * 0.5 + x[i]
        k = k + 1
    out[0] = s


def test_a_variable_that_begins_as_an_integer_is_a_float():
    body = sources.read(integer_then_float).tree.body
    found = types.follow(body, {"x": types.FLOAT.of_rank(1), "out": types.FLOAT.of_rank(1)}, {})
    assert (found["s"], found["k"], found["i"]) == (types.FLOAT, types.INTEGER, types.INTEGER)


@pytest.mark.parametrize(
    ("a", "b", "joined"),
    [
        (("f", 32), ("f", 32), ("f", 32)),
        (("f", 32), ("f", 64), ("f", 64)),
        (("f", 32), ("i", 64), ("f", 64)),
        (("f", 32), ("b", 8), ("f", 32)),
        (("i", 32), ("i", 64), ("i", 64)),
        (("b", 8), ("b", 8), ("b", 8)),
    ],
)
def test_types_join_as_numba_has_them(a, b, joined):
    assert types.join(types.Type(*a), types.Type(*b)) == types.Type(*joined)


# -- what the tape holds
def linear(x, out):
    s = 0.0
    for i in range(x.shape[0]):
        s += 2.0 * x[i]
        out[i] = s


def test_a_linear_loop_needs_no_tape_and_no_forward_sweep():
    lines = code(source_of(linear))
    assert not any("tape" in line for line in lines)
    assert not any(line.startswith("s ") for line in lines)


def overwritten(x, out):
    acc = 1.0
    for i in range(x.shape[0]):
        acc = acc * x[i]
    out[0] = acc


def test_an_overwritten_factor_is_taped_in_room_that_is_made_once():
    lines = code(source_of(overwritten))
    assert lines.count("tape[top] = acc") == 1
    assert lines.count("acc = tape[top]") == 1
    assert "if top + max(x.shape[0], 0) * 1 > tape.size:" in lines


def cheap_and_dear(x, out):
    for i in range(x.shape[0]):
        a = x[i] * 2.0
        b = math.exp(a)
        out[i] = a * b


def test_cheap_locals_are_computed_again_and_dear_ones_taped():
    lines = code(source_of(cheap_and_dear))
    assert lines.count("tape[top] = b") == 1
    assert not any("tape[top] = a" in line for line in lines)
    assert lines.count("a = x[i] * 2.0") == 2


def scan(x, out):
    a = np.empty(x.shape[0])
    a[0] = x[0]
    for i in range(1, x.shape[0]):
        a[i] = math.sin(a[i - 1]) * x[i]
    out[0] = a[x.shape[0] - 1]


def test_a_scan_tapes_no_element():
    assert not any("= a[i]" in line and "tape" in line for line in code(source_of(scan)))


def scan_the_other_way(x, out):
    a = np.zeros(x.shape[0])
    for i in range(1, x.shape[0]):
        a[i - 1] = math.sin(a[i]) * x[i] * a[i - 1]
    for i in range(x.shape[0]):
        out[i] = a[i]


def test_an_element_that_was_read_is_taped():
    assert "tape[top] = a[i - 1]" in code(source_of(scan_the_other_way))


def adds(W, x, out):
    for i in range(W.shape[0]):
        s = 0.0
        for j in range(W.shape[1]):
            s += W[i, j] * x[j]
        out[i] = s


def test_loops_that_only_add_run_in_their_own_order():
    lines = code(source_of(adds, "(n,m),(m)->(n)"))
    assert lines.count("for j in range(W.shape[1]):") == 1
    assert not any("back" in line and "W.shape[1]" in line for line in lines)


def stops(x, out):
    p = 1.0
    for i in range(x.shape[0]):
        p = p * x[i]
        if p > 2.0:
            break
    out[0] = p * p


def test_a_loop_that_stops_counts_its_rounds():
    lines = code(source_of(stops))
    assert "tape_int[top_int] = count" in lines
    assert "count += 1" in lines


def grows(x, out):
    y = x[0]
    while y < 10.0:
        y = y * x[1]
    out[0] = y


def test_a_tape_whose_size_isnt_known_grows():
    lines = code(source_of(grows))
    assert "tape = grow(tape, top + 1)" in lines
    given, gradient = np.array([1.0, 1.1]), np.empty(2)
    derive(grows, "(n)->(n)").function(given, np.empty(2), np.array([1.0, 0.0]), gradient)
    assert gradient == pytest.approx([1.1**25, 25 * 1.1**24], rel=1e-13)


def triangle(x, out):
    s = 1.0
    for i in range(x.shape[0]):
        for j in range(i, x.shape[0]):
            s = s * (1.0 + x[j] * 0.1)
        for j in range(i + 1):
            s = s * (1.0 + x[j] * 0.1)
    out[0] = s


def test_the_room_for_triangles_is_that_of_the_square():
    lines = code(source_of(triangle))
    assert sum(line.startswith("if top +") for line in lines) == 1


# -- indices
def accesses(text):
    body = ast.parse(text).body
    return Accesses(body, {"a", "b"})


@pytest.mark.parametrize(
    ("text", "once"),
    [
        ("for i in range(n):\n    a[i] = x", True),
        ("for i in range(n):\n    a[i + 1] = x", True),
        ("for i in range(n):\n    a[i - 1] = x", False),
        ("for i in range(1, n):\n    a[i - 1] = x", True),
        ("for i in range(n - 1, -1, -1):\n    a[i] = x", True),
        ("for i in range(n - 1, -2, -1):\n    a[i] = x", False),
        ("for i in range(k, n):\n    a[i] = x", False),
        ("for i in range(n):\n    for j in range(i, n):\n        a[i, j] = x", True),
        ("for i in range(n):\n    for j in range(n):\n        a[i] = x", False),
        ("for i in range(n):\n    a[2 * i] = x", False),
        ("for i in range(n):\n    a[i] += x", False),
        ("for i in range(n):\n    a[i] = x\na[0] = x", False),
        ("while x:\n    a[0] = x", False),
        ("for i in range(0, n, s):\n    a[i] = x", False),
    ],
)
def test_arrays_whose_elements_are_written_once(text, once):
    assert written_once(accesses(text), {"a"}) == ({"a"} if once else set())


@pytest.mark.parametrize(
    ("text", "free"),
    [
        ("for i in range(1, n):\n    a[i] = a[i - 1]", True),
        ("for i in range(1, n):\n    a[i] = a[i + 1]", False),
        ("for i in range(n - 2, -1, -1):\n    a[i] = a[i + 1]", True),
        ("for i in range(1, n):\n    a[i] = a[i]", False),
        ("for i in range(1, n):\n    a[i] = x\n    y = a[i]", True),
        ("for i in range(1, n):\n    y = a[i]\n    a[i] = x", False),
        ("y = a[0]\nfor i in range(1, n):\n    a[i] = x", False),
        ("for i in range(1, n):\n    a[i] = x\ny = a[0]", True),
        ("for i in range(0, n):\n    a[i] = a[i - 1]", False),
        ("for i in range(1, n):\n    for j in range(1, n):\n        a[i, j] = a[i - 1, j + 5]", True),
        ("for i in range(1, n):\n    for j in range(1, n):\n        a[i, j] = a[i, j + 1]", False),
        ("for i in range(1, n):\n    for j in range(1, n):\n        a[i, j] = a[k, j]", False),
        ("for t in range(2):\n    for i in range(1, n):\n        a[i] = a[i - 1]", False),
    ],
)
def test_elements_that_nothing_read_before(text, free):
    assert bool(never_read_before(accesses(text))) is free


def test_elements_are_distinct_only_where_indices_count_from_the_start():
    low = lowest(ast.parse("for i in range(1, n):\n    pass\nfor j in range(k, n):\n    pass").body)
    assert low == {"i": 1}

    def element(text):
        return ast.parse(text, mode="eval").body

    assert distinct(element("a[i]"), element("a[i - 1]"), low)
    assert not distinct(element("a[i]"), element("a[i - 2]"), low)
    assert not distinct(element("a[j]"), element("a[j + 1]"), low)
    assert not distinct(element("a[i]"), element("a[k]"), low)


# -- what is written
def test_comments_say_which_line_each_part_belongs_to():
    line = overwritten.__code__.co_firstlineno + 3
    text = source_of(overwritten)
    assert text.count(f"# {line}: acc = acc * x[i]") == 2
    assert f"derived from {__file__}." in text


def test_a_debugger_finds_the_text():
    import inspect

    derivative = derive(overwritten, "(n)->(n)")
    assert inspect.getsource(derivative.function) == derivative.source


def scalars(a, n, x, out):
    for i in range(x.shape[0]):
        out[i] = a * x[i] * n


def test_every_gradient_is_written_in_full_and_integers_get_zeros():
    derivative = derive(scalars, "(),(),(k)->(k)", dtypes=["float64", "int64", "float64", "float64"])
    assert derivative.arguments == ("a", "n", "x", "out", "d_out", "d_a", "d_n", "d_x")
    assert derivative.results == ("d_a", "d_n", "d_x")
    found = [np.full(s, np.nan) for s in (1, 1, 3)]
    derivative.function(2.0, 3, np.ones(3), np.full(3, 6.0), np.ones(3), *found)
    assert [f.tolist() for f in found] == [[9.0], [0.0], [6.0, 6.0, 6.0]]


def dies(x, out):
    if x[0] > 0.0:
        out[0] = 1.0
    else:
        out[0] = 2.0


def test_an_output_that_depends_on_nothing_has_the_gradient_0():
    gradient = np.full(1, np.nan)
    derive(dies, "(n)->(n)").function(np.ones(1), np.ones(1), np.ones(1), gradient)
    assert gradient.tolist() == [0.0]


def test_tapes_say_how_much_memory_they_take():
    n = 100
    derivative = derive(overwritten, "(n)->(n)")
    assert derivative.tape_bytes(np.ones(n), np.empty(n)) == 8 * n
    assert derive(linear, "(n)->(n)").tape_bytes(np.ones(n), np.empty(n)) == 0


def constants_that_change(x, out):
    c = np.ones(3)
    j = 0
    for i in range(3):
        out[i] = x[i] * c[i] + x[0] * c[2]
        c[j] = c[j] * 0.5 + i
        j = (j + 2) % 3


def test_constants_that_are_overwritten_at_places_that_change_are_brought_back():
    given, gradient = np.array([2.0, 3.0, 5.0]), np.full(3, np.nan)
    derive(constants_that_change, "(n)->(n)").function(given, np.empty(3), np.ones(3), gradient)
    # c is [1, 1, 1], then [0.5, 1, 1], then [0.5, 1, 1.5].
    assert gradient.tolist() == [1.0 + 1.0 + 1.0 + 1.5, 1.0, 1.5]


def loops_around_a_place(x, out):
    """A flag of the first loop must be cleared for the second round."""
    total = 0.0
    for i in range(3):
        for j in range(3):
            if j > i:
                break
            total += x[j] * x[i]
    out[0] = total


def test_a_loop_that_stopped_runs_again():
    gradient = np.full(3, np.nan)
    derive(loops_around_a_place, "(n)->()").function(np.array([2.0, 3.0, 5.0]), np.empty(1), np.ones(1), gradient)
    assert gradient.tolist() == [4.0 + 3.0 + 5.0, 2.0 + 6.0 + 5.0, 2.0 + 3.0 + 10.0]


def bounds_that_change(x, out):
    n = 2
    s = 1.0
    for i in range(n):
        s = s * x[i]
    n = 3
    for i in range(n):
        s = s + x[i]
    out[0] = s


def adds_across(x, out):
    a = x.copy()
    b = x.copy()
    for i in range(1, 3):
        a[i] += 2.0 * b[i - 1]
        b[i] += 3.0 * a[i - 1]
    out[0] = a[2] + b[2]


def keeps_the_last(x, out):
    last = 0.0
    for i in range(3):
        last = x[i]
    out[0] = last


def counts_with_a_sum(x, out):
    s = 0.0
    t = 0.0
    for i in range(3):
        t += s
        s += x[i]
    out[0] = t


def bounds_that_change_inside(x, out):
    n = 2
    s = 1.0
    for i in range(n):
        s = s * x[i]
        n = n + 1
    out[0] = s * n


def scratch_in_a_loop(x, out):
    total = 0.0
    for i in range(3):
        y = np.zeros(2)
        y[0] += x[i]
        y[1] += y[0] * y[0]
        total += y[1]
    out[0] = total


def writes_where_another_name_read(x, out):
    a = x.copy()
    b = np.empty(3)
    for i in range(3):
        b[i] = a[i] * a[i]
    a, b = b, a
    for i in range(3):
        b[i] = a[i] * a[i]
    out[0] = b[0] + b[1] + b[2]


@pytest.mark.parametrize(
    ("function", "gradient"),
    [
        (bounds_that_change_inside, [3.0 * 4.0, 2.0 * 4.0, 0.0]),
        (scratch_in_a_loop, [4.0, 6.0, 10.0]),
        (writes_where_another_name_read, [4.0 * 8.0, 4.0 * 27.0, 4.0 * 125.0]),
        (bounds_that_change, [3.0 + 1.0, 2.0 + 1.0, 1.0]),
        (adds_across, [3.0 * 2.0 + 2.0 * 3.0, 2.0 + 3.0, 1.0 + 1.0]),
        (keeps_the_last, [0.0, 0.0, 1.0]),
        (counts_with_a_sum, [2.0, 1.0, 0.0]),
    ],
    ids=lambda f: getattr(f, "__name__", ""),
)
def test_the_order_of_rounds_and_their_number_are_those_of_the_loop(function, gradient):
    found = np.full(3, np.nan)
    derive(function, "(n)->()").function(np.array([2.0, 3.0, 5.0]), np.empty(1), np.ones(1), found)
    assert found.tolist() == gradient
