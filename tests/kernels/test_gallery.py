"""Every kernel of the gallery on the running framework: values, dtypes, batches, compiled, gradients, symbolic."""

from __future__ import annotations

import os
import subprocess
import sys

import keras
import numpy as np
import pytest
from kernels import frameworks
from kernels.gallery import GALLERY, power

import layerwright as lw
from layerwright.errors import GradientError
from layerwright.kernels.differences import summed

each = pytest.mark.parametrize("name", GALLERY)
# How many leading axes each input gets: none, one, broadcast ones.
BATCHES = {
    "none": ((), ()),
    "one": ((4,), (4,)),
    "first only": ((4,), ()),
    "broadcast": ((2, 1), (3,)),
    "empty": ((0,), ()),
}


def made(name: str, batch: str = "none", dtype: str = "float32", seed: int = 0) -> list[np.ndarray]:
    """Inputs of a kernel with leading axes."""
    rng = np.random.default_rng(seed)
    shapes = BATCHES[batch]
    rows = []
    for k, _ in enumerate(GALLERY[name].inputs(rng)):
        shape = shapes[min(k, 1)]
        stack = np.array(
            [GALLERY[name].inputs(rng)[k] for _ in range(int(np.prod(shape)))]
            or [np.asarray(GALLERY[name].inputs(rng)[k])]
        )
        core = stack.shape[1:]
        rows.append(stack[: int(np.prod(shape))].reshape((*shape, *core)))
    return [x.astype(dtype) if x.dtype.kind == "f" else x for x in rows]


def outputs(value) -> list:
    return list(value) if isinstance(value, tuple) else [value]


def same(got, wanted, tolerance=1e-5):
    for y, reference in zip(outputs(got), outputs(wanted), strict=True):
        values = frameworks.array(y) if keras.ops.is_tensor(y) else y
        assert values.shape == np.shape(reference)
        np.testing.assert_allclose(values.astype("float64"), np.asarray(reference, "float64"), tolerance, tolerance)


@each
@pytest.mark.parametrize("batch", BATCHES)
def test_values_are_those_of_numpy_for_every_batch(name, batch):
    inputs = made(name, batch)
    wanted = GALLERY[name].reference(*inputs)
    same(GALLERY[name].kernel(*map(frameworks.tensor, inputs)), wanted)
    same(GALLERY[name].kernel(*inputs), wanted)


@each
def test_a_compiled_function_gives_the_same(name):
    inputs = [frameworks.tensor(x) for x in made(name, "one")]
    kernel = GALLERY[name].kernel
    same(frameworks.compiled(lambda *x: kernel(*x))(*inputs), GALLERY[name].reference(*made(name, "one")))


@each
@pytest.mark.parametrize("dtype", ["float16", "bfloat16", "float64"])
def test_other_floating_dtypes_come_back_as_they_went_in(name, dtype, backend):
    if dtype == "float64" and backend == "jax":
        pytest.skip("JAX has no float64 unless it is told to")
    inputs = made(name, "one")
    tensors = [frameworks.tensor(x, dtype if x.dtype.kind == "f" else None) for x in inputs]
    rounded = [frameworks.array(x) for x in tensors]
    got = GALLERY[name].kernel(*tensors)
    same(got, GALLERY[name].reference(*rounded), {"float16": 5e-3, "bfloat16": 5e-2, "float64": 1e-12}[dtype])
    kinds = [keras.backend.standardize_dtype(y.dtype) for y in outputs(got)]
    whole = {"inside": ["bool"], "ranks": ["int32", "int32"]}
    assert kinds == whole.get(name, [dtype] * len(kinds))


@each
@pytest.mark.parametrize("batch", ["none", "one", "first only", "broadcast"])
def test_gradients_are_those_of_central_differences_in_each_inputs_shape(name, batch):
    if not GALLERY[name].smooth:
        pytest.skip("it has no gradient")
    kernel, inputs = GALLERY[name].kernel, made(name, batch)
    kernel.check_gradient(*inputs)
    found = frameworks.gradients(
        lambda *x: sum(keras.ops.sum(keras.ops.sin(y)) for y in outputs(kernel(*x))),
        [frameworks.tensor(x) for x in inputs],
    )
    values = [x.astype("float64") if x.dtype.kind == "f" else x for x in inputs]
    ys = outputs(kernel(*values))
    derived = outputs(kernel.gradient(*values, *ys, *map(np.cos, ys)))
    for x, got, wanted in zip(inputs, found, derived, strict=True):
        if x.dtype.kind == "f":
            assert got is not None
            assert got.shape == x.shape
            np.testing.assert_allclose(got, summed(wanted, x.shape), 1e-4, 1e-4)
        else:
            assert got is None


@each
def test_symbolic_shapes_and_dtypes_are_those_of_the_values(name):
    inputs = made(name, "one")
    symbols = [keras.KerasTensor((None, *x.shape[1:]), x.dtype.name) for x in inputs]
    values = outputs(GALLERY[name].kernel(*map(frameworks.tensor, inputs)))
    for symbol, value in zip(outputs(GALLERY[name].kernel(*symbols)), values, strict=True):
        assert symbol.shape == (None, *value.shape[1:])
        assert symbol.dtype == keras.backend.standardize_dtype(value.dtype)


def test_an_open_time_axis_stays_open():
    x = keras.KerasTensor((None, None))
    assert GALLERY["ema"].kernel(x, 0.5).shape == (None, None)
    assert GALLERY["logsumexp"].kernel(x).shape == (None,)
    assert GALLERY["matvec"].kernel(keras.KerasTensor((None, 3, None)), x).shape == (None, 3)


def test_numbers_arrays_variables_and_tensors_stand_beside_one_another():
    variable = keras.Variable(np.float32(2.0))
    x = np.arange(3, dtype="float32")
    for p in (2, 2.0, np.float32(2.0), variable, frameworks.tensor(2.0)):
        same(power(p, frameworks.tensor(x)), 2 * x**2)
    same(power(variable, x), 2 * x**2)
    assert power(2, np.arange(3, dtype="int32")).dtype == np.int32


@each
@pytest.mark.parametrize("batch", ["one", "broadcast"])
def test_derived_gradients_are_those_by_hand(name, batch):
    if not GALLERY[name].smooth:
        pytest.skip("its outputs aren't differentiable")
    kernel = GALLERY[name].kernel
    bare = lw.kernel(str(kernel.signature))(kernel.function) if not kernel.elementwise else lw.kernel(kernel.function)
    bare.check_gradient(*made(name, batch))
    inputs = [frameworks.tensor(x) for x in made(name, batch)]

    def loss(used):
        return lambda *x: sum(keras.ops.sum(keras.ops.sin(y)) for y in outputs(used(*x)))

    for derived, by_hand in zip(
        frameworks.gradients(loss(bare), inputs), frameworks.gradients(loss(kernel), inputs), strict=True
    ):
        if by_hand is None:
            assert derived is None
        else:
            np.testing.assert_allclose(derived, by_hand, 1e-4, 1e-5)


@each
def test_a_kernel_without_a_gradient_raises_where_one_is_asked_for(name):
    if not GALLERY[name].smooth:
        pytest.skip("its outputs aren't differentiable")
    kernel = GALLERY[name].kernel
    signature = None if kernel.elementwise else str(kernel.signature)
    bare = lw.kernel(signature, differentiable=False)(kernel.function)
    inputs = [frameworks.tensor(x) for x in made(name, "one")]
    with pytest.raises(
        (GradientError, RuntimeError, LookupError), match=f"`{name}` was made with `differentiable=False`"
    ):
        frameworks.gradients(lambda *x: sum(keras.ops.sum(y) for y in outputs(bare(*x))), inputs)


def test_a_layer_with_a_kernel_trains_and_is_saved(tmp_path):
    @keras.saving.register_keras_serializable(package="tests_kernels")
    class Power(keras.layers.Layer):
        def build(self, input_shape):
            self.p = self.add_weight(shape=(), initializer="ones", name="p")

        def call(self, x):
            return power(self.p, x)

    rng = np.random.default_rng(0)
    x = rng.uniform(0.5, 1.5, (64, 3)).astype("float32")
    model = keras.Sequential([keras.Input((3,)), Power()])
    model.compile(keras.optimizers.SGD(0.2), "mse")
    model.fit(x, 3.0 * x**2, batch_size=16, epochs=20, verbose=0)
    assert float(frameworks.array(model.layers[-1].p.value)) == pytest.approx(3.0, abs=1e-2)
    model.save(tmp_path / "model.keras")
    again = keras.saving.load_model(tmp_path / "model.keras")
    np.testing.assert_array_equal(again.predict(x, verbose=0), model.predict(x, verbose=0))


@pytest.mark.parametrize("policy", ["mixed_float16", "mixed_bfloat16"])
def test_mixed_precision_is_respected(policy):
    class Power(keras.layers.Layer):
        def build(self, input_shape):
            self.p = self.add_weight(shape=(), initializer="ones", name="p")

        def call(self, x):
            return power(self.p, x)

    y = Power(dtype=policy)(np.ones((2, 3), "float32"))
    assert keras.backend.standardize_dtype(y.dtype) == policy.removeprefix("mixed_")


@pytest.mark.slow
def test_the_gallery_holds_without_native_operations():
    command = [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", __file__]
    done = subprocess.run(
        [*command, "-k", "values_are or gradients_are or dtypes"],
        env={**os.environ, "LAYERWRIGHT_NATIVE": "0"},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout
