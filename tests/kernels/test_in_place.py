"""Outputs in memory that is there: `out`, `aliases`, and what TensorFlow passes on by itself."""

from __future__ import annotations

import inspect

import keras
import numpy as np
import pytest
from kernels.frameworks import array, gradients, tensor

import layerwright as lw
from layerwright.errors import DtypeError, GradientError, KernelError, ShapeError, SignatureError

MANY = 1 << 20  # elements, 4 MiB of float32


@lw.kernel(aliases="x")
def power(p, x):
    return p * x**2


@power.backward
def _(p, x, _y, dy):
    return dy * x**2, dy * 2 * p * x


@lw.kernel
def both(x, y):
    return x + y, x - y


@lw.kernel("(t),()->(t)", aliases="x")
def average(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        state = decay * state + (1.0 - decay) * x[i]
        out[i] = state


@lw.kernel("(t)->(t)")
def backwards(x, out):
    for i in range(x.shape[0]):
        out[i] = x[x.shape[0] - 1 - i]


def numbers(*shape: int) -> np.ndarray:
    return np.random.default_rng(0).normal(size=shape).astype("float32")


@pytest.mark.parametrize("size", [1, 7, 512, 513, 5000])
def test_out_may_be_an_input_of_an_elementwise_kernel(size):
    x, y = numbers(2, size), numbers(2, size)[::-1].copy()
    want = x + y, x - y
    found = both(x, y, out=(y, x))
    assert found[0] is y
    assert found[1] is x
    np.testing.assert_array_equal(y, want[0])
    np.testing.assert_array_equal(x, want[1])


def test_out_is_what_is_returned_and_nothing_is_allocated_for_it():
    x, out = numbers(3, 4), np.empty((3, 4), "float32")
    assert power(np.float32(2.0), x, out=out) is out
    np.testing.assert_allclose(out, 2 * x**2, rtol=1e-6)


def test_out_that_overlaps_an_input_otherwise_is_computed_aside():
    x = np.arange(11, dtype="float32")
    backwards(x[:10], out=x[1:])
    np.testing.assert_array_equal(x, [0, *range(9, -1, -1)])
    y = np.arange(10, dtype="float32")
    np.testing.assert_array_equal(backwards(y, out=y), np.arange(9, -1, -1))
    z = np.arange(1000, dtype="float32")
    power(1.0, z[:-1], out=z[1:])
    np.testing.assert_array_equal(z[1:], np.arange(999, dtype="float32") ** 2)


def test_out_may_have_strides_and_a_dtype_that_is_cast():
    x, out = numbers(4, 5), np.zeros((4, 10), "float32")
    power(np.float32(1.0), x, out=out[:, ::2])
    np.testing.assert_allclose(out[:, ::2], x**2, rtol=1e-6)
    assert not out[:, 1::2].any()
    half = np.empty(4, "float16")
    power(np.float16(2.0), np.ones(4, "float16"), out=half)
    assert half.tolist() == [2.0] * 4


def test_out_of_another_shape_or_dtype_is_refused():
    x = numbers(2, 3)
    with pytest.raises(ShapeError) as shape:
        power(1.0, x, out=np.empty((3, 3), "float32"))
    assert str(shape.value) == (
        "`out` for `output 0` of `power` has another shape than the result.\n"
        "  Expected: (2, 3)\n  Got:      (3, 3)\n  Fix:      pass an array of that shape, or leave out `out`."
    )
    with pytest.raises(DtypeError) as dtype:
        power(1.0, x, out=np.empty((2, 3)))
    assert str(dtype.value) == (
        "`out` for `output 0` of `power` has another dtype than the result.\n"
        "  Expected: float32\n  Got:      float64\n  Fix:      pass an array of that dtype, or leave out `out`."
    )
    frozen = np.empty((2, 3), "float32")
    frozen.flags.writeable = False
    with pytest.raises(KernelError, match="can't be written"):
        power(1.0, x, out=frozen)
    with pytest.raises(SignatureError) as count:
        both(x, x, out=np.empty((2, 3), "float32"))
    assert str(count.value) == (
        "`both` was called with 1 arrays for its outputs.\n"
        "  Expected: 2\n  Got:      1\n  Fix:      pass a tuple with one for each."
    )


@pytest.mark.backend("tensorflow", "jax")
def test_out_is_refused_where_tensors_cannot_be_written():
    x = tensor(numbers(3))
    with pytest.raises(KernelError) as error:
        power(1.0, x, out=x)
    assert str(error.value) == (
        "`power` was called with `out`, which can't be written.\n"
        "  Expected: arrays of NumPy, or tensors of PyTorch\n"
        f"  Got:      {type(x).__name__}\n"
        "  Fix:      leave out `out`; with `@lw.kernel(aliases=...)` an output takes the memory of an input that "
        "nobody else needs."
    )


@pytest.mark.backend("torch")
def test_out_fills_a_tensor_of_pytorch():
    import torch

    x, out = torch.tensor(numbers(3, 4)), torch.empty(3, 4)
    assert power(torch.tensor(2.0), x, out=out) is out
    assert torch.allclose(out, 2 * x**2)
    turned = torch.empty(4, 3).T
    power(2.0, x, out=turned)
    assert torch.allclose(turned, 2 * x**2)
    half = torch.empty(3, 4, dtype=torch.bfloat16)
    power(2.0, x.to(torch.bfloat16), out=half)
    assert torch.allclose(half.float(), 2 * x**2, rtol=1e-2)


@pytest.mark.backend("torch")
def test_autograd_knows_of_a_tensor_that_was_filled():
    import torch

    x = torch.tensor(numbers(3), requires_grad=True)
    kept = torch.ones(3)
    y = x * kept
    power(2.0, torch.ones(3), out=kept)
    with pytest.raises(RuntimeError, match="modified by an inplace operation"):
        y.sum().backward()
    with pytest.raises(GradientError) as error:
        power(2.0, x, out=torch.empty(3))
    assert str(error.value) == (
        "`power` was called with `out` where PyTorch records gradients.\n"
        "  Expected: tensors without `requires_grad`, or `torch.no_grad()`\n"
        "  Got:      a tensor with `requires_grad`\n"
        "  Fix:      leave out `out`, or call it under `torch.no_grad()`."
    )
    with torch.no_grad():
        power(2.0, x, out=x)


@pytest.mark.parametrize(
    ("signature", "aliases", "expected", "got"),
    [
        (None, "z", "names of inputs: x, y", "'z'"),
        ("(n),(m)->(n)", "y", "an input with the core dimensions of the output, in (n),(m)->(n)", "'y'"),
        ("(n),(n)->(n)", ("x", "y"), "1, one for each output", "('x', 'y')"),
        ("(n)->(n),(n)", ("x", "x"), "an input for one output only", "('x', 'x')"),
    ],
)
def test_aliases_that_do_not_fit_are_refused(signature, aliases, expected, got):
    def two(x, y):
        return x

    def three(x, y, out):
        out[:] = x

    with pytest.raises(SignatureError) as error:
        lw.kernel(signature, aliases=aliases)(two if signature is None else three)
    function = two if signature is None else three
    assert str(error.value) == (
        f"`aliases` of `{function.__name__}` doesn't fit.\n  Expected: {expected}\n  Got:      {got}\n"
        '  Fix:      name for each output an input, or None: `aliases="x"`, `aliases=("x", None)`.\n'
        f"  Where:    {__file__}:{inspect.getsourcelines(function)[1]}"
    )


def test_an_input_that_is_needed_again_keeps_its_elements(backend):
    x = tensor(numbers(2, 600))
    before = array(x).copy()

    def use(x):
        y = power(2.0, average(x, 0.5))
        return y + x, average(x, 0.5)

    if backend == "tensorflow":
        import tensorflow as tf

        found = [tf.function(use)(x), use(x)]
    elif backend == "jax":
        import jax

        found = [jax.jit(use)(x), use(x)]
    else:
        found = [use(x)]
    np.testing.assert_array_equal(array(x), before)
    want = array(average(before.copy(), np.float32(0.5)))
    for first, second in found:
        np.testing.assert_allclose(array(second), want, rtol=1e-6)
        np.testing.assert_allclose(array(first), 2 * want**2 + before, rtol=1e-5)


def test_the_gradient_of_an_aliased_kernel_has_what_it_needs():
    x = tensor(numbers(700))
    found = gradients(lambda p, x: keras.ops.sum(power(p, power(p, x))), [tensor(np.float32(0.5)), x])
    values, p = array(x).astype("float64"), 0.5
    np.testing.assert_allclose(found[1], 4 * p**3 * values**3, rtol=1e-4)
    np.testing.assert_allclose(found[0], np.sum(3 * p**2 * values**4), rtol=1e-4)


@pytest.mark.backend("jax")
def test_jax_gives_the_memory_of_a_donated_input_to_the_output():
    import jax

    x = jax.numpy.ones(MANY)
    step = jax.jit(lambda x: power(2.0, x), donate_argnums=0)
    assert "input_output_alias" in step.lower(x).compile().as_text()
    place = x.unsafe_buffer_pointer()
    y = step(x)
    assert y.unsafe_buffer_pointer() == place
    assert float(y[MANY - 1]) == 2.0


@pytest.mark.backend("jax")
def test_vmap_over_another_input_than_the_aliased_one():
    import jax

    x, decay = jax.numpy.asarray(numbers(6)), jax.numpy.asarray([0.1, 0.5], "float32")
    found = jax.jit(jax.vmap(average, (None, 0)))(x, decay)
    np.testing.assert_allclose(found, [average(array(x), d) for d in np.asarray(decay)], rtol=1e-6)
    nested = jax.vmap(jax.vmap(average, (None, 0)), (0, None))(jax.numpy.stack([x, 2 * x]), decay)
    np.testing.assert_allclose(nested[1], 2 * found, rtol=1e-6)


@pytest.mark.backend("tensorflow")
def test_tensorflow_passes_on_the_memory_of_what_nobody_else_needs():
    import tensorflow as tf

    @lw.kernel("(n)->()", outputs="int64")
    def place(x, out):
        out[0] = x.ctypes.data

    @tf.function
    def chain(x, again):
        x = power(1.0, x + 0.0)
        before = place(x)
        with tf.control_dependencies([before]):
            y = average(x, 0.0)
        return before, place(y), y if not again else y + x

    before, after, y = chain(tf.ones(MANY), False)
    assert int(before) == int(after)
    before, after, z = chain(tf.ones(MANY), True)
    assert int(before) != int(after)
    np.testing.assert_array_equal(z, y + 1.0)
