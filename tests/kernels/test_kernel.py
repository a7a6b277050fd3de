"""What a kernel is to its user: calls, options, errors in full, exceptions, threads, definitions that come again."""

from __future__ import annotations

import inspect
import os
import threading

import numpy as np
import psutil
import pytest

import layerwright as lw
from layerwright.errors import DtypeError, GradientError, ShapeError, SignatureError
from layerwright.kernels import Kernel
from layerwright.kernels.dtypes import plan

HERE = __file__


@lw.kernel
def power(p, x):
    """p times x squared."""
    return p * x**2


@lw.kernel("(n)->(n)", boundscheck=True)
def shifted(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i + 1]


@lw.kernel("(n)->()")
def positive(x, out):
    if x[0] < 0:
        raise ValueError("negative start")
    out[0] = x[0]


@lw.kernel(boundscheck=True)
def inverse(x):
    return 1.0 / x


def line_of(function: object, text: str) -> int:
    """The line of this file where a kernel says something."""
    lines, first = inspect.getsourcelines(function)
    return first + next(n for n, line in enumerate(lines) if text in line)


def test_a_kernel_says_what_it_is():
    assert repr(power) == "<kernel power(p, x) elementwise>"
    assert repr(shifted) == '<kernel shifted(x) "(n)->(n)">'
    assert power.__doc__ == "p times x squared."
    assert str(inspect.signature(power)) == "(p, x, *, out=None)"
    assert power.source == '@lw.kernel\ndef power(p, x):\n    """p times x squared."""\n    return p * x**2\n'


def test_existing_dispatchers_of_numba_are_kernels_too():
    import numba

    @numba.njit
    def cube(x):
        return x**3

    assert lw.kernel(cube)(2.0) == 8.0


def test_constants_around_the_function_are_part_of_it():
    table = np.array([1.0, 10.0, 100.0])

    @lw.kernel
    def looked_up(i):
        return table[i]

    np.testing.assert_array_equal(looked_up(np.array([2, 0])), np.array([100.0, 1.0], "float32"))


REFUSED = {
    "too few arguments": (
        lambda: power(1.0),
        SignatureError,
        "`power` was called with 1 arguments.\n  Expected: 2: p, x\n  Got:      1\n  Fix:      pass one for each.",
    ),
    "a dtype": (
        lambda: power("a", 1.0),
        DtypeError,
        "`power` can't compute in the dtype of `p`.\n"
        "  Expected: bfloat16, float16, float32, float64, int8, int16, int32, int64, uint8, uint16, uint32, uint64, "
        "bool\n"
        "  Got:      str32\n"
        "  Fix:      cast it with `keras.ops.cast`.",
    ),
    "an option": (
        lambda: lw.kernel(paralel=True),
        SignatureError,
        "`kernel` has no option `paralel`.\n"
        "  Expected: parallel, fastmath, boundscheck, differentiable, cache, outputs, aliases\n"
        "  Got:      paralel",
    ),
    "no function": (
        lambda: lw.kernel(3),
        SignatureError,
        "A kernel is made of a function.\n"
        "  Expected: a Python function, or what numba.njit makes of one\n"
        "  Got:      int\n"
        "  Fix:      write `@lw.kernel` above a `def`.",
    ),
}


@pytest.mark.once
@pytest.mark.parametrize("name", REFUSED)
def test_wrong_use_is_told_in_four_slots(name):
    make, kind, message = REFUSED[name]
    with pytest.raises(kind) as caught:
        make()
    assert str(caught.value) == message


@pytest.mark.once
def test_a_function_that_does_not_fit_its_signature_is_told_at_its_line():
    def short(x):
        pass

    with pytest.raises(SignatureError) as caught:
        lw.kernel("(n)->(n)")(short)
    assert str(caught.value) == (
        "`short` has 1 arguments, and needs 2.\n"
        "  Expected: 1 inputs and 1 outputs, because of `(n)->(n)`\n"
        "  Got:      (x)\n"
        "  Fix:      give the function an argument for each of these.\n"
        f"  Where:    {HERE}:{short.__code__.co_firstlineno}"
    )


@pytest.mark.once
def test_an_elementwise_function_that_returns_no_number_is_told():
    @lw.kernel
    def nothing(x):
        pass

    with pytest.raises(SignatureError) as caught:
        nothing(1.0)
    assert str(caught.value) == (
        "`nothing` doesn't return a number.\n"
        "  Expected: a number, or a tuple of numbers\n"
        "  Got:      none\n"
        '  Fix:      return one for each output; to fill arrays, give a signature such as `@lw.kernel("(t)->(t)")`.\n'
        f"  Where:    {nothing.place}"
    )


@pytest.mark.once
def test_shapes_are_refused_before_machine_code_sees_them():
    with pytest.raises(ShapeError, match="`x` of `shifted` has 0 axes and needs 1"):
        shifted(1.0)


@pytest.mark.once
def test_more_operands_than_machine_code_has_room_for_are_refused():
    names = [f"x{n}" for n in range(33)]
    scope = {}
    exec(f"def many({', '.join(names)}):\n    return x0", scope)
    with pytest.raises(SignatureError) as caught:
        lw.kernel(scope["many"])(*[1.0] * 33)
    assert str(caught.value) == (
        "`many` has 34 operands.\n"
        "  Expected: 32 at most\n"
        "  Got:      34\n"
        "  Fix:      stack arrays of one shape into one argument."
    )


# ------------------------------------------------------------------------------------------ exceptions
RAISING = {
    "a raise": (positive, np.array([-1.0]), ValueError, "negative start", "raise ValueError"),
    # Numba gives these neither a line nor values: the row is computed again by Python.
    "an index": (shifted, np.ones(3), IndexError, "index 3 is out of bounds for axis 0 with size 3", "x[i + 1]"),
    "a division": (inverse, np.zeros(3), ZeroDivisionError, "(float )?division by zero", "1.0 / x"),
    "a row that is too large for that": (shifted, np.ones(70_000), IndexError, "index is out of bounds", "@lw.kernel"),
}


@pytest.mark.once
@pytest.mark.parametrize("name", RAISING)
def test_what_a_kernel_raises_is_raised_with_its_line(name):
    kernel, x, kind, message, text = RAISING[name]
    with pytest.raises(kind, match=message) as caught:
        kernel(x)
    line = line_of(kernel.function, text)
    said = f"`{kernel.name}` raised {kind.__name__}: {caught.value}\n  Where:    {HERE}:{line}"
    assert caught.value.__notes__ == [said]


@pytest.mark.once
def test_a_row_is_not_computed_again_for_ever():
    import sys

    @lw.kernel("(n)->()", boundscheck=True)
    def late(x, out):
        total = 0
        for i in range(10_000_000):
            total += i
        out[0] = x[x.shape[0]] + total

    tracer = sys.gettrace()
    with pytest.raises(IndexError, match="index is out of bounds") as caught:
        late(np.ones(3))
    assert str(caught.value) == "index is out of bounds"
    assert caught.value.__notes__[0].endswith(late.place)
    assert sys.gettrace() is tracer


@pytest.mark.once
def test_the_row_that_fails_is_the_one_that_is_named():
    @lw.kernel("(n),()->(n)", boundscheck=True)
    def picked(x, index, out):
        for i in range(x.shape[0]):
            out[i] = 0.0
        out[0] = x[index]

    indices = np.zeros((2, 5), "int64")
    indices[1, 3] = 9
    with pytest.raises(IndexError, match="index 9 is out of bounds for axis 0 with size 4"):
        picked(np.ones((5, 4)), indices)


@pytest.mark.once
def test_arithmetic_follows_ieee_unless_checks_are_asked_for():
    @lw.kernel
    def free(x):
        return 1.0 / x

    assert free(np.zeros(1, "float32")) == np.inf


@pytest.mark.slow
@pytest.mark.once
def test_ten_thousand_exceptions_leave_nothing_behind():
    def raising(times):
        for _ in range(times):
            with pytest.raises(ValueError, match="negative start"):
                positive(x)

    x = -np.ones(1000)
    raising(500)
    process = psutil.Process()
    before = process.memory_info().rss
    raising(10_000)
    assert process.memory_info().rss - before < 8 << 20
    assert positive(np.ones(3)) == 1.0


# -------------------------------------------------------------------------------------------- gradients
@pytest.mark.once
def test_a_wrong_gradient_is_told_with_the_worst_element_and_both_values():
    @lw.kernel
    def double(x):
        return 2.0 * x

    @double.backward
    def wrong(x, y, dy):
        return dy * (2.0 if x < 1.0 else 3.0)

    double.check_gradient(np.array([0.5, -1.0]))
    with pytest.raises(GradientError) as caught:
        double.check_gradient(np.array([[0.5, 4.0]]))
    lines = str(caught.value).splitlines()
    assert lines[0] == "The gradient of `double` for `x` is wrong at (0, 1)."
    expected, got = (float(line.split()[1].rstrip(",")) for line in lines[1:3])
    assert got / expected == pytest.approx(1.5)
    assert lines[4] == f"  Where:    {wrong.place}"


@pytest.mark.once
def test_a_gradient_needs_the_arguments_that_it_is_given():
    @lw.kernel("(n)->()")
    def total(x, out):
        out[0] = x.sum()

    with pytest.raises(SignatureError) as caught:
        total.backward(lambda x, d_out, d_x: None)  # noqa: ARG005
    assert "1 inputs, 1 outputs and 1 cotangents, and 1 gradients to write" in str(caught.value)
    total.check_gradient(np.ones(3))
    with pytest.raises(GradientError, match="`total` was made with `differentiable=False`"):
        lw.kernel("(n)->()", differentiable=False)(total.function).check_gradient(np.ones(3))


# ------------------------------------------------------------------------------------------------ dtypes
def results_as_given(dtypes):
    return [None]


@pytest.mark.once
@pytest.mark.parametrize(
    ("given", "inputs", "output"),
    [
        (("float32", "float32"), ("float32", "float32"), "float32"),
        (("float16", "float32"), ("float32", "float32"), "float32"),
        (("float16", "bfloat16"), ("float32", "float32"), "float32"),
        (("bfloat16", float), ("bfloat16", "bfloat16"), "bfloat16"),
        (("int32", "float16"), ("int32", "float16"), "float16"),
        (("int32", float), ("int32", "float32"), "float32"),
        (("float64", int), ("float64", "float64"), "float64"),
        (("int8", "int32"), ("int8", "int32"), "int32"),
        (("int64", "uint64"), ("int64", "uint64"), "int64"),
        (("bool", "bool"), ("bool", "bool"), "float32"),
        ((int, bool), ("int32", "bool"), "int32"),
    ],
)
def test_the_dtypes_of_a_call_follow_the_rules(given, inputs, output):
    found = plan(given, "f", ["a", "b"], results_as_given)
    assert (found.inputs, found.outputs) == (inputs, (output,))


# ------------------------------------------------------------------------------ threads and definitions
@lw.kernel("(t),()->(t)", parallel=True)
def smooth(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        if x[i] < -1e6:
            raise ValueError("too small")
        state = decay * state + (1.0 - decay) * x[i]
        out[i] = state


@pytest.mark.once
def test_parts_of_a_batch_on_threads_give_the_same():
    alone = lw.kernel("(t),()->(t)")(smooth.function)
    x = np.random.default_rng(0).normal(size=(7, 3, 5000))
    for given in (x, x[:1], x[:, :1]):
        np.testing.assert_array_equal(smooth(given, 0.9), alone(given, 0.9))


@pytest.mark.once
def test_threads_report_an_exception_and_concurrent_calls_stand():
    x = np.ones((8, 20_000))
    bad = x.copy()
    bad[0, 3] = -1e7
    errors = []

    def work():
        for _ in range(20):
            try:
                smooth(bad, 0.5)
            except ValueError as error:
                errors.append(str(error))
            assert smooth(x, 0.5).shape == x.shape

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == ["too small"] * 80


@pytest.mark.once
@pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork")
@pytest.mark.filterwarnings("ignore:.*fork:DeprecationWarning", "ignore:.*fork:RuntimeWarning")
def test_a_forked_child_computes_on_threads_too():
    x = np.ones((8, 20_000))
    wanted = float(smooth(x, 0.5).sum())
    child = os.fork()
    if child == 0:
        os._exit(0 if float(smooth(x, 0.5).sum()) == wanted else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


def defined(factor: float) -> Kernel:
    @lw.kernel
    def scaled(x):
        return factor * x

    return scaled


def test_kernels_of_one_name_keep_apart_and_one_that_comes_again_is_the_same(backend):
    import keras

    x = keras.ops.convert_to_tensor(np.ones(3, "float32"))
    two, three, again = defined(2.0), defined(3.0), defined(2.0)
    assert two.fingerprint == again.fingerprint != three.fingerprint
    for kernel, factor in ((two, 2.0), (three, 3.0), (again, 2.0)):
        np.testing.assert_array_equal(keras.ops.convert_to_numpy(kernel(x)), np.full(3, factor, "float32"))
