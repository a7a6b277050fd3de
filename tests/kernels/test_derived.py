"""Kernels whose gradient is derived from their source, as each framework asks for it."""

from __future__ import annotations

import inspect
import math

import child
import keras
import numpy as np
import pytest
from kernels.frameworks import array, compiled, gradients, tensor

import layerwright as lw
from layerwright.errors import DifferentiationError, GradientError

ops = keras.ops


@lw.kernel
def power(p, x):
    return p * x**2 + math.exp(-x)


@lw.kernel("(t),()->(t)")
def average(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        state = decay * state + (1.0 - decay) * x[i]
        out[i] = state


@lw.kernel("(t),(k)->(k),()")
def picked(x, index, out, total):
    """Integers that index, and two outputs."""
    total[0] = 0.0
    for i in range(index.shape[0]):
        out[i] = x[index[i]] ** 2
        total[0] += math.sin(out[i])


@lw.kernel("(t)->()", differentiable=None)
def log_sum(x, out):
    a = 0.0
    for j in range(x.shape[0]):
        a += math.exp(x[j])
    out[0] = math.log(a)


@lw.kernel("(t)->()")
def product(x, out):
    a = 1.0
    for j in range(x.shape[0]):
        a *= x[j]
    out[0] = a


@lw.kernel("(t)->()")
def recurrent(x, out):
    h = 0.0
    for j in range(x.shape[0]):
        h = math.tanh(0.9 * h + x[j])
    out[0] = h


def trying(x):
    try:
        return x
    except Exception:
        return 2 * x


X = np.random.default_rng(0).normal(size=(3, 5)).astype("float32")


# Loops whose gradients others get wrong: what is overwritten in the loop is needed again.
@pytest.mark.parametrize(
    ("kernel", "gradient"),
    [
        (log_sum, lambda x: np.exp(x) / np.exp(x).sum()),
        (product, lambda x: np.prod(x) / x),
    ],
)
def test_what_a_loop_overwrites_is_there_for_its_gradient(kernel, gradient):
    x = np.linspace(0.5, 1.5, 4, dtype="float32")
    (found,) = gradients(kernel, [tensor(x)])
    np.testing.assert_allclose(found, gradient(x.astype("float64")), 1e-5)


def test_a_recurrence_has_the_gradient_of_its_steps():
    x = np.linspace(0.5, 1.5, 4)
    states = [0.0]
    for value in x:
        states.append(math.tanh(0.9 * states[-1] + value))
    wanted, carry = [], 1.0
    for state in reversed(states[1:]):
        carry *= 1 - state**2
        wanted.insert(0, carry)
        carry *= 0.9
    (found,) = gradients(recurrent, [tensor(x.astype("float32"))])
    np.testing.assert_allclose(found, wanted, 1e-4)


def test_integers_index_and_have_no_gradient():
    index = np.array([[1, 1, 4], [0, 2, 2]], "int32")
    picked.check_gradient(X[:2], index)

    def loss(x, index):
        out, total = picked(x, index)
        return ops.sum(out) + 2.0 * ops.sum(total)

    found = gradients(loss, [tensor(X[:2]), tensor(index)])
    wanted = np.zeros((2, 5))
    for row in range(2):
        for i in index[row]:
            wanted[row, i] += 2 * X[row, i] * (1 + 2 * math.cos(X[row, i] ** 2))
    np.testing.assert_allclose(found[0], wanted, 1e-4, 1e-5)
    assert found[1] is None


def test_a_compiled_step_takes_a_gradient_and_a_gradient_of_it(backend):
    x, decay = tensor(X), tensor(np.float32(0.9))

    def loss(decay):
        return ops.sum(average(x, decay) ** 2)

    if backend == "jax":
        import jax

        first, second = jax.jit(jax.grad(loss))(decay), jax.jit(jax.grad(jax.grad(loss)))(decay)
    elif backend == "tensorflow":
        import tensorflow as tf

        @tf.function
        def both(decay):
            with tf.GradientTape() as outer:
                outer.watch(decay)
                with tf.GradientTape() as inner:
                    inner.watch(decay)
                    y = loss(decay)
                slope = inner.gradient(y, decay)
            return slope, outer.gradient(slope, decay)

        first, second = both(decay)
    else:
        import torch

        leaf = decay.clone().requires_grad_()
        (first,) = torch.autograd.grad(loss(leaf), leaf, create_graph=True)
        (second,) = torch.autograd.grad(first, leaf)
    wide, h = X.astype("float64"), 1e-3

    def value(decay):
        return float(np.sum(average(wide, decay) ** 2))

    np.testing.assert_allclose(array(first), (value(0.9 + h) - value(0.9 - h)) / (2 * h), 1e-3)
    np.testing.assert_allclose(array(second), (value(0.9 + h) - 2 * value(0.9) + value(0.9 - h)) / h**2, 1e-3)


def test_a_third_derivative_is_refused(backend):
    x = tensor(np.float32(0.5))

    def thrice():
        if backend == "jax":
            import jax

            return jax.grad(jax.grad(jax.grad(lambda x: power(2.0, x))))(x)
        if backend == "tensorflow":
            import tensorflow as tf

            with tf.GradientTape() as one, tf.GradientTape() as two, tf.GradientTape() as three:
                for tape in (one, two, three):
                    tape.watch(x)
                y = three.gradient(power(2.0, x), x)
                z = two.gradient(y, x)
            return one.gradient(z, x)
        import torch

        leaf = x.clone().requires_grad_()
        (y,) = torch.autograd.grad(power(2.0, leaf), leaf, create_graph=True)
        (z,) = torch.autograd.grad(y, leaf, create_graph=True)
        return torch.autograd.grad(z, leaf)

    with pytest.raises(GradientError) as error:
        thrice()
    assert str(error.value) == (
        "`power_backward_backward` is a second derivative, and has no gradient.\n"
        "  Expected: derivatives of first and second order\n"
        "  Got:      one of third order\n"
        "  Fix:      stop the gradient before it (`keras.ops.stop_gradient`).\n"
        f"  Where:    {power.place}"
    )


def test_what_is_not_differentiated_computes_and_is_refused_at_its_line():
    kernel = lw.kernel(trying)
    x = tensor(np.float32([1.0, 2.0]))
    np.testing.assert_array_equal(array(kernel(x)), [1.0, 2.0])
    line = inspect.getsourcelines(trying)[1] + 1
    with pytest.raises(DifferentiationError) as error:
        gradients(lambda x: ops.sum(kernel(x)), [x])
    lines = str(error.value).splitlines()
    assert lines[0] == "`trying` has `try`, through which no derivative is taken."
    assert lines[-1] == f"  Where:    {__file__}:{line}:5"
    with pytest.raises(DifferentiationError, match="`trying` has `try`"):
        lw.kernel(differentiable=True)(trying)


@pytest.mark.parametrize("options", [{"parallel": True}, {"boundscheck": True}, {"fastmath": True}])
def test_options_hold_for_the_gradient_too(options):
    kernel = lw.kernel("(t),()->(t)", **options)(average.function)
    x = np.random.default_rng(1).normal(size=(40, 1000)).astype("float32")
    loss = lambda used: lambda x, d: ops.sum(used(x, d) ** 2)  # noqa: E731
    inputs = [tensor(x), tensor(np.float32(0.5))]
    for found, wanted in zip(gradients(loss(kernel), inputs), gradients(loss(average), inputs), strict=True):
        np.testing.assert_allclose(found, wanted, 1e-4, 1e-4)


def test_a_layer_trains_by_a_derived_gradient():
    class Smooth(keras.layers.Layer):
        def build(self, _shape):
            self.decay = self.add_weight(shape=(), initializer=keras.initializers.Constant(0.2), name="decay")

        def call(self, x):
            return average(x, self.decay)

    x = np.random.default_rng(0).normal(size=(64, 20)).astype("float32")
    model = keras.Sequential([keras.Input((20,)), Smooth()])
    model.compile(optimizer=keras.optimizers.Adam(0.05), loss="mse")
    model.fit(x, average(x, np.float32(0.7)), epochs=40, batch_size=16, verbose=0)
    assert abs(float(ops.convert_to_numpy(model.layers[-1].decay)) - 0.7) < 0.02


@pytest.mark.backend("torch")
def test_torch_checks_first_and_second_derivatives():
    import torch

    x = torch.tensor(X[:1].astype("float64"), requires_grad=True)
    decay = torch.tensor(0.7, dtype=torch.float64, requires_grad=True)
    assert torch.autograd.gradcheck(average, (x, decay))
    assert torch.autograd.gradgradcheck(average, (x, decay))
    step = compiled(lambda x, decay: average(x, decay).sum())
    assert torch.allclose(
        torch.autograd.grad(step(x, decay), decay)[0], torch.autograd.grad(average(x, decay).sum(), decay)[0]
    )
    rows = torch.func.vmap(torch.func.grad(lambda x: average(x, 0.5).sum()))(torch.tensor(X))
    whole = torch.func.grad(lambda x: average(x, 0.5).sum())(torch.tensor(X))
    assert torch.allclose(rows, whole)


@pytest.mark.backend("jax")
def test_jax_maps_and_scans_derived_gradients():
    import jax

    def loss(x, decay):
        return average(x, decay).sum()

    rows = jax.jit(jax.vmap(jax.grad(loss, 1), (0, None)))(X, 0.5)
    np.testing.assert_allclose(rows, [jax.grad(loss, 1)(x, 0.5) for x in X], 1e-5)
    hessian = jax.jacrev(jax.jacrev(lambda d: loss(X[0], d)))(0.5)
    np.testing.assert_allclose(hessian, jax.grad(jax.grad(lambda d: loss(X[0], d)))(0.5), 1e-5)


@pytest.mark.slow
@pytest.mark.backend("tensorflow")
def test_a_saved_model_derives_its_gradient_in_another_process(tmp_path):
    module = """
import layerwright as lw
@lw.kernel("(t),()->(t)")
def decayed(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        state = decay * state + x[i]
        out[i] = state
"""
    folder = tmp_path / "kernels"
    folder.mkdir()
    (folder / "decaying.py").write_text(module)
    use = f"""
import sys
sys.path.insert(0, {str(folder)!r})
import tensorflow as tf
from decaying import decayed
class Model(tf.Module):
    def __init__(self):
        self.decay = tf.Variable(0.5)
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def __call__(self, x):
        return decayed(x, self.decay)
def results(model):
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model(tf.ones([2, 3])))
    return float(y), float(tape.gradient(y, model.decay))
"""
    place = str(tmp_path / "saved")
    first = child.output(f"{use}\ntf.saved_model.save(Model(), {place!r})\nprint(results(Model()))")
    assert first == "(8.5, 6.0)"
    assert child.output(f"{use}\nprint(results(tf.saved_model.load({place!r})))") == first
