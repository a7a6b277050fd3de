"""Kernels in TensorFlow, beyond what the gallery shows on every backend."""

from __future__ import annotations

import importlib.util
import pathlib
import random
import re
import sys

import child
import keras
import numpy as np
import pytest
from kernels.frameworks import misdeclared
from kernels.gallery import GALLERY, ema, matvec, power

import layerwright as lw
from layerwright.errors import GradientError, ShapeError
from layerwright.kernels import bridges, native

pytestmark = pytest.mark.backend("tensorflow")

if keras.config.backend() == "tensorflow":
    import tensorflow as tf
    from tensorflow.python.framework import op_def_registry

    from layerwright.kernels.bridges import tensorflow as bridge
    from layerwright.kernels.bridges import tensorflow_gradients, tensorflow_library, tensorflow_ops, tensorflow_xla

X = np.random.default_rng(0).normal(size=(4, 6)).astype("float32")

# A module with kernels, for processes of their own.
MODULE = """
import layerwright as lw
@lw.kernel
def scaled(a, x):
    return a * x * x
@scaled.backward
def _(a, x, y, dy):
    return dy * x * x, 2.0 * dy * a * x
@lw.kernel("(t),()->(t)")
def decayed(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        if x[i] < -100.0:
            raise ValueError("too cold")
        state = decay * state + x[i]
        out[i] = state
@decayed.backward
def _(x, decay, out, d_out, d_x, d_decay):
    carry = total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        carry += d_out[i]
        d_x[i] = carry
        total += carry * (out[i - 1] if i > 0 else 0.0)
        carry *= decay
    d_decay[0] = total
"""
MODEL = """
import numpy as np, tensorflow as tf
class Model(tf.Module):
    def __init__(self):
        self.decay = tf.Variable(0.5)
    @tf.function(input_signature=[tf.TensorSpec([None, None])])
    def __call__(self, x):
        return scaled(decayed(x, self.decay), 2.0)
def results(model):
    x = tf.constant(np.arange(12.0, dtype="float32").reshape(3, 4))
    with tf.GradientTape() as tape:
        y = tf.reduce_sum(model(x))
    rows = tf.data.Dataset.from_tensor_slices(x).batch(1).map(model, num_parallel_calls=2).unbatch().batch(3)
    return float(y), float(tape.gradient(y, model.decay)), float(tf.reduce_sum(next(iter(rows))))
"""


@pytest.fixture
def folded():
    """A kernel that has code of its own in every test, so that its op is new."""
    number = random.SystemRandom().random()

    @lw.kernel
    def shifted(x):
        return x + number

    return shifted


def test_kernels_are_native_ops_here():
    assert native.allowed() == bridge._native()
    graph = tf.function(power).get_concrete_function(tf.constant(1.0), tf.constant(2.0)).graph
    assert [n.type for n in graph.get_operations() if n.type.startswith("Layerwright>Power_")]


def test_the_codes_of_dtypes_are_those_of_tensorflow():
    assert {name: tf.as_dtype(name).as_datatype_enum for name in tensorflow_library.CODES} == tensorflow_library.CODES


def test_functions_of_the_c_api_are_as_the_headers_declare_them():
    folder = pathlib.Path(tf.sysconfig.get_include()) / "tensorflow" / "c"
    assert misdeclared(tensorflow_library, sorted(folder.glob("*.h"))) == []


def test_sizes_that_are_open_stay_open_and_are_right_at_run_time():
    seen = []

    @tf.function(input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([])])
    def smooth(x, decay):
        y = ema(x, decay)
        seen.append(y.shape.as_list())
        return y

    for shape in ((4, 6), (2, 3)):
        np.testing.assert_allclose(smooth(X[: shape[0], : shape[1]], 0.5), ema(X[: shape[0], : shape[1]], 0.5), 1e-6)
    assert seen == [[None, None]]


def test_a_rank_that_is_open_stays_open_and_gradients_are_summed_at_run_time():
    @tf.function(input_signature=[tf.TensorSpec(None), tf.TensorSpec(None)])
    def slopes(p, x):
        with tf.GradientTape() as tape:
            tape.watch([p, x])
            y = power(p, x)
        assert y.shape.rank is None
        return tape.gradient(y, [p, x])

    for shape in ((), (6,), (4, 1), (1, 6)):
        p = np.ones(shape, "float32")
        of_p, of_x = slopes(p, X)
        wanted = np.broadcast_to(X**2, np.broadcast_shapes(shape, X.shape))
        lead = tuple(range(2 - len(shape)))
        axes = (*lead, *(len(lead) + n for n, size in enumerate(shape) if size == 1))
        np.testing.assert_allclose(of_p, wanted.sum(axes).reshape(shape), 1e-5)
        np.testing.assert_allclose(of_x, 2.0 * X, 1e-5)


def test_static_shapes_are_those_of_the_signature():
    chance = random.Random(0)
    for name in ["power", "ema", "matvec", "polar"] * 25:
        kernel = GALLERY[name].kernel
        shapes = [
            [chance.choice([1, 2, 4, None]) for _ in range(chance.randint(0, 3))]
            + [chance.choice([3, 3, 3, 5, None]) for _ in core]
            for core in kernel.signature.inputs
        ]
        trace = tf.function(kernel).get_concrete_function
        specs = [tf.TensorSpec(shape) for shape in shapes]
        try:
            wanted = kernel.shapes(shapes)
        except ShapeError as error:
            with pytest.raises(ShapeError, match=re.escape(str(error))):
                trace(*specs)
        else:
            assert [tuple(y.shape.as_list()) for y in trace(*specs).outputs] == wanted


def test_one_unknown_size_does_not_become_another():
    shape = tf.function(power).get_concrete_function(tf.TensorSpec([None, 1, 2]), tf.TensorSpec([3, None, None]))
    assert shape.output_shapes.as_list() == [3, None, 2]


def test_maps_and_datasets_run_kernels():
    whole = ema(X, 0.5)
    np.testing.assert_array_equal(tf.map_fn(lambda row: ema(row, 0.5), tf.constant(X)), whole)
    rows = tf.data.Dataset.from_tensor_slices(X).map(lambda row: ema(row, 0.5), num_parallel_calls=2).batch(4)
    np.testing.assert_array_equal(next(iter(rows)), whole)


def test_vectorized_maps_make_one_call(caplog):
    decays = tf.constant([0.1, 0.2, 0.3])
    several = tf.vectorized_map(lambda decay: ema(X, decay), decays)
    np.testing.assert_array_equal(several, [ema(X, decay) for decay in decays])
    np.testing.assert_array_equal(tf.vectorized_map(lambda row: power(2.0, row), tf.constant(X)), 2.0 * X**2)
    open_rank = tf.function(
        lambda x: tf.vectorized_map(lambda row: ema(row, 0.5), x), input_signature=[tf.TensorSpec(None)]
    )
    np.testing.assert_array_equal(open_rank(X), ema(X, 0.5))
    assert "while_loop" not in caplog.text


def test_jacobians_are_the_same_with_and_without_vectorizing():
    x, decay = tf.constant(X), tf.constant([0.1, 0.2, 0.3, 0.4])
    with tf.GradientTape(persistent=True) as tape:
        tape.watch([x, decay])
        y = ema(x, decay)
    for fast, slow in zip(
        tape.jacobian(y, [x, decay]), tape.jacobian(y, [x, decay], experimental_use_pfor=False), strict=True
    ):
        np.testing.assert_allclose(fast, slow, 1e-5, 1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: tf.function(f)], ids=["eager", "graph"])
def test_second_derivatives_work_where_the_gradient_has_one(wrap):
    def second(p, x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = power(p, x)
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x)

    np.testing.assert_allclose(wrap(second)(tf.constant(3.0), tf.constant(X)), np.full_like(X, 6.0), 1e-6)


@pytest.mark.parametrize("wrap", [lambda f: f, lambda f: tf.function(f)], ids=["eager", "graph"])
def test_second_derivatives_raise_where_the_gradient_has_none(wrap):
    def second(x):
        with tf.GradientTape() as outer:
            outer.watch(x)
            with tf.GradientTape() as inner:
                inner.watch(x)
                y = ema(x, 0.5)
            slope = inner.gradient(y, x)
        return outer.gradient(slope, x)

    with pytest.raises(Exception, match="`ema_backward` has no gradient, so that there is no second derivative"):
        wrap(second)(tf.constant(X))


def test_a_kernel_that_is_not_differentiable_says_so(folded):
    function = folded.function
    plain = lw.kernel(differentiable=False)(function)
    x = tf.constant(1.0)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = plain(x)
    with pytest.raises(GradientError, match="`shifted` was made with `differentiable=False`"):
        tape.gradient(y, x)


def test_kernels_of_the_same_code_keep_their_own_gradients(folded):
    other = lw.kernel(folded.function)
    folded.backward(lambda _x, _y, dy: 2.0 * dy)
    other.backward(lambda _x, _y, dy: 3.0 * dy)
    x = tf.constant(1.0)
    with tf.GradientTape(persistent=True) as tape:
        tape.watch(x)
        first, second = folded(x), other(x)
    assert tensorflow_ops.op_of(folded, None) == tensorflow_ops.op_of(other, None)
    assert [float(tape.gradient(y, x)) for y in (first, second)] == [2.0, 3.0]


def test_an_output_on_which_nothing_depends_has_a_zero_cotangent():
    polar = GALLERY["polar"].kernel
    x, y = tf.constant([3.0]), tf.constant([4.0])
    with tf.GradientTape() as tape:
        tape.watch([x, y])
        radius, _ = polar(x, y)
    np.testing.assert_allclose(tape.gradient(radius, [x, y]), [[0.6], [0.8]], 1e-6)


@pytest.mark.parametrize(
    "run",
    [
        lambda f, x: f(x),
        lambda f, x: tf.function(f)(x),
        lambda f, x: next(iter(tf.data.Dataset.from_tensors(x).map(f))),
    ],
    ids=["eager", "graph", "dataset"],
)
def test_what_a_kernel_raises_becomes_an_exception_of_tensorflow(run):
    @lw.kernel("(t)->(t)")
    def warm(x, out):
        for i in range(x.shape[0]):
            if x[i] < 0.0:
                raise ValueError("below zero")
            out[i] = x[i]

    with pytest.raises(
        tf.errors.UnknownError, match=r"`warm` raised ValueError: below zero(.|\n)*Where: .*test_tensor"
    ):
        run(warm, tf.constant([1.0, -1.0]))
    np.testing.assert_array_equal(run(warm, tf.constant([1.0, 2.0])), [1.0, 2.0])


def test_shapes_that_do_not_fit_are_told_as_everywhere():
    with pytest.raises(ShapeError, match="`decay` of `ema` doesn't broadcast"):
        ema(tf.constant(X), tf.ones([3]))
    smooth = tf.function(ema, input_signature=[tf.TensorSpec([None, None]), tf.TensorSpec([None])])
    with pytest.raises(tf.errors.InvalidArgumentError, match="`decay` of `ema` has a shape that doesn't fit"):
        smooth(X, tf.ones([3]))


@pytest.mark.parametrize(
    ("inputs", "outputs", "said"),
    [
        ([(3, 4)], ["float32"], "`ema` has 2 inputs and 1 outputs, not 1 and 1"),
        ([(3, 4), ()], ["float32"] * 2, "`ema` has 2 inputs and 1 outputs, not 2 and 2"),
        ([(), ()], ["float32"], "`x` of `ema` has a shape that doesn't fit"),
        ([(3, 4), (5,)], ["float32"], "`decay` of `ema` has a shape that doesn't fit"),
        ([(3, 4), ()], ["float32"] * 40, "32 inputs and outputs at most"),
        ([(1,) * 20, ()], ["float32"], "16 leading axes at most"),
        ([(3, 4), ()], ["string"], "Tout.* of string is not in the list"),
    ],
)
def test_an_op_that_is_called_past_python_checks_what_it_is_given(inputs, outputs, said):
    op = tensorflow_ops.op_of(ema, None)
    with pytest.raises(tf.errors.InvalidArgumentError, match=said):
        tensorflow_ops.apply(op, "ema", [tf.ones(shape) for shape in inputs], list(map(tf.as_dtype, outputs)), "")


def test_an_op_compiles_for_dtypes_that_it_has_not_met(folded):
    op = tensorflow_ops.op_of(folded, None)
    for dtype in (tf.float64, tf.int32):
        (y,) = tensorflow_ops.apply(op, "shifted", [tf.constant([1, 2], dtype)], [tf.float64], "")
        np.testing.assert_allclose(y, folded(np.array([1.0, 2.0])))


def test_an_op_is_known_when_its_kernel_is_defined(folded):
    assert op_def_registry.get(tensorflow_ops._op_name(native.unique_name(folded))) is not None
    assert folded in native.known()


def test_an_op_that_another_copy_of_layerwright_registered_is_not_registered_again(folded):
    first = tensorflow_ops.op_of(folded, None)
    second = tensorflow_ops._register(folded, first, lambda *_: None)
    assert second.startswith(f"{first}_")
    assert float(tensorflow_ops.apply(second, "shifted", [tf.constant(1.0)], [tf.float32], "")[0]) == folded(1.0)


def test_a_tensorflow_that_lacks_something_gets_callbacks_and_one_warning(monkeypatch, folded):
    def missing():
        raise AttributeError("undefined symbol: TF_NewKernelBuilder")

    monkeypatch.setattr(bridge, "_ops", missing)
    bridge._native.cache_clear()
    try:
        with pytest.warns(RuntimeWarning, match="Kernels run as callbacks into Python: .*TF_NewKernelBuilder"):
            assert float(folded(tf.constant(1.0))) == pytest.approx(float(folded(1.0)))
    finally:
        bridge._native.cache_clear()


def test_a_kernel_that_uses_what_is_defined_further_down_waits_for_it():
    space = {"lw": lw}
    exec("@lw.kernel\ndef later(x):\n    return x * factor\n", space)
    assert space["later"] not in native.known()
    exec(f"factor = {random.SystemRandom().random()}", space)
    assert space["later"] in native.known()
    assert float(space["later"](tf.constant(2.0))) == pytest.approx(2.0 * space["factor"])


@pytest.mark.parametrize("name", ["power", "<lambda>", "_", "snake_case_2", "größe"])
def test_every_name_of_a_kernel_makes_a_name_that_tensorflow_takes(name):
    def function(x):
        return x + 1.0

    function.__name__ = name
    assert float(lw.kernel(function)(tf.constant(1.0))) == 2.0


def test_autograph_leaves_a_kernel_alone(monkeypatch):
    callers = []
    real = bridges.of

    def of(*arguments):
        callers.append(sys._getframe(1).f_code.co_filename)
        return real(*arguments)

    monkeypatch.setattr(bridges, "of", of)
    tf.function(lambda x: power(2.0, x))(tf.constant(1.0))
    assert [name.rpartition("/")[2] for name in callers] == ["kernel.py"]


@pytest.mark.parametrize("sizes", ["known", "open"])
@pytest.mark.parametrize(
    ("name", "shapes"),
    [("power", [(), (4, 6)]), ("power", [(4, 1), (2, 1, 6)]), ("ema", [(4, 6), (4,)]), ("polar", [(4, 1), (3,)])],
)
def test_xla_compiles_functions_with_kernels(name, shapes, sizes):
    kernel = GALLERY[name].kernel
    inputs = [tf.constant(np.random.default_rng(0).uniform(0.5, 0.9, shape), tf.float32) for shape in shapes]
    specs = [tf.TensorSpec([None] * len(shape)) for shape in shapes] if sizes == "open" else None

    def slopes(*values):
        with tf.GradientTape() as tape:
            tape.watch(values)
            outputs = kernel(*values)
        return outputs, tape.gradient(outputs, values)

    compiled = tf.function(slopes, jit_compile=True, input_signature=specs)
    for got, wanted in zip(tf.nest.flatten(compiled(*inputs)), tf.nest.flatten(slopes(*inputs)), strict=True):
        np.testing.assert_allclose(got, wanted, 1e-5)
    operations = compiled.get_concrete_function(*inputs).graph.get_operations()
    assert [n.type for n in operations if n.type.startswith(("Xla", "Layerwright"))] == ["XlaCallModule"] * 2


@pytest.mark.parametrize("dtype", ["float16", "float64", "int8", "int32", "uint16", "uint64"])
def test_xla_compiles_for_every_dtype(dtype, folded):
    plus = lw.kernel(lambda a, b: a + b)
    values = tf.constant([1, 2, 3], dtype)
    got = tf.function(plus, jit_compile=True)(values, values)
    assert got.dtype == dtype
    np.testing.assert_array_equal(got, [2, 4, 6])


def test_xla_takes_gradients_from_outside_of_what_it_compiles():
    x = tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(x)
        y = tf.function(power, jit_compile=True)(tf.constant(3.0), x)
    np.testing.assert_allclose(tape.gradient(y, x), 6.0 * X, 1e-5)


def test_xla_passes_on_what_a_kernel_raises():
    @lw.kernel
    def checked(x):
        if x < 0.0:
            raise ValueError("below zero")
        return x

    with pytest.raises(tf.errors.InternalError, match="`checked` raised ValueError: below zero"):
        tf.function(checked, jit_compile=True)(tf.constant(-1.0))


def test_a_model_that_xla_compiles_trains():
    class Power(keras.layers.Layer):
        def build(self, shape):
            self.p = self.add_weight(shape=(), initializer="ones")

        def call(self, x):
            return power(self.p, x)

    x = np.random.default_rng(0).uniform(0.5, 1.5, (64, 3)).astype("float32")
    model = keras.Sequential([keras.Input((3,)), Power()])
    model.compile(keras.optimizers.SGD(0.2), "mse", jit_compile=True)
    model.fit(x, 3.0 * x**2, batch_size=16, epochs=20, verbose=0)
    assert float(model.layers[-1].p) == pytest.approx(3.0, abs=1e-2)


TOLD = r"`power` is machine code, which XLA can't compile(.|\n)*Fix: .*jit_compile=False"


def test_xla_is_refused_with_what_to_do_where_it_has_no_handlers(monkeypatch):
    monkeypatch.setattr(tensorflow_xla, "usable", lambda: False)
    with pytest.raises(tf.errors.UnimplementedError, match=TOLD):
        tf.function(power, jit_compile=True)(tf.constant(1.0), tf.constant(2.0))


def test_xla_is_refused_with_what_to_do_where_a_rank_is_open():
    with pytest.raises(tf.errors.UnimplementedError, match=TOLD):
        tf.function(power, jit_compile=True, input_signature=[tf.TensorSpec(None)] * 2)(1.0, 2.0)


def test_a_function_that_xla_does_not_compile_has_the_native_op(folded):
    graph = tf.function(lambda x: folded(x)).get_concrete_function(tf.constant(1.0)).graph
    assert "XlaCallModule" not in {n.type for n in graph.get_operations()}


@pytest.mark.slow
def test_a_version_of_tensorflow_that_was_never_tried_is_tried_in_a_child_process():
    assert tensorflow_xla._trial()


def test_gradients_are_summed_over_static_axes_only_where_something_was_broadcast():
    full = tf.TensorShape([2, 3, None, 5])
    axes = tensorflow_gradients._axes
    assert axes(full, tf.TensorShape([3, 1, 5]), 1) == [0, 2]
    assert axes(full, tf.TensorShape([2, 3, None, 5]), 1) is None
    assert axes(tf.TensorShape([2, 3]), tf.TensorShape([2, 3]), 0) == []
    assert axes(full, tf.TensorShape(None), 0) is None


def test_the_gradient_of_a_matrix_is_summed_over_the_batch():
    a, x = tf.ones([2, 6]), tf.constant(X)
    with tf.GradientTape() as tape:
        tape.watch(a)
        y = matvec(a, x)
    np.testing.assert_allclose(tape.gradient(y, a), np.tile(X.sum(0), (2, 1)), 1e-5)


@pytest.mark.slow
def test_a_saved_model_runs_in_another_process_with_its_gradient(tmp_path):
    saved = f"tf.saved_model.save(Model(), {str(tmp_path)!r})\nprint(results(Model()))"
    first = child.output(f"{MODULE}\n{MODEL}\n{saved}")
    loaded = f"print(results(tf.saved_model.load({str(tmp_path)!r})))"
    assert child.output(f"import tensorflow\n{MODULE}\n{MODEL}\n{loaded}") == first
    if importlib.util.find_spec("jax") is not None:  # where Keras doesn't import TensorFlow
        later = (
            f"{MODULE}\nimport sys\nassert 'tensorflow' not in sys.modules\n{MODEL}\nlw.kernels.register()\n{loaded}"
        )
        assert child.output(f"import layerwright.kernels\n{later}", {"KERAS_BACKEND": "jax"}) == first
    assert child.run(f"{MODEL}\n{loaded}").returncode != 0


@pytest.mark.slow
def test_a_saved_function_that_xla_compiles_runs_in_another_process(tmp_path):
    model = """
import numpy as np, tensorflow as tf
class Model(tf.Module):
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, None])])
    def __call__(self, x):
        return scaled(decayed(x, 0.5), 2.0)
    @tf.function(jit_compile=True, input_signature=[tf.TensorSpec([None, 3], tf.float64)])
    def other(self, x):
        return decayed(x, tf.constant(0.25, tf.float64))
def results(model):
    values = [float(tf.reduce_sum(model(tf.ones([rows, 4])))) for rows in (1, 3)]
    try:
        model(-200.0 * tf.ones([1, 2]))
    except tf.errors.OpError as error:
        assert "too cold" in error.message
    return values, model.other(tf.ones([1, 3], tf.float64)).numpy().tolist()
"""
    saved = f"tf.saved_model.save(Model(), {str(tmp_path)!r})\nprint(results(Model()))"
    first = child.output(f"{MODULE}\n{model}\n{saved}")
    loaded = f"print(results(tf.saved_model.load({str(tmp_path)!r})))"
    assert child.output(f"import tensorflow\n{MODULE}\n{model}\n{loaded}") == first


@pytest.mark.slow
def test_without_native_ops_values_gradients_and_errors_are_the_same():
    space = {}
    exec(f"{MODULE}\n{MODEL}\nfound = results(Model())", space)
    code = f"""{MODULE}{MODEL}
assert results(Model()) == {space["found"]}
x = tf.constant([1.0])
for run in (decayed, tf.function(decayed)):
    try:
        run(-200.0 * tf.ones([3]), 0.5)
    except Exception as error:
        assert "too cold" in str(error), error
    else:
        raise AssertionError
with tf.GradientTape() as outer:
    outer.watch(x)
    with tf.GradientTape() as inner:
        inner.watch(x)
        y = decayed(x, 0.5)
    slope = inner.gradient(y, x)
try:
    outer.gradient(slope, x)
except lw.LayerwrightError as error:
    print(error.message)
"""
    said = child.output(code, {"LAYERWRIGHT_NATIVE": "0"})
    assert said == "`decayed_backward` has no gradient, so that there is no second derivative."
