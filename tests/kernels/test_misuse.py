"""What careless and hostile users do: values stay right, and messages say what is wrong."""

from __future__ import annotations

import collections
import copy
import enum
import inspect
import pickle
import types

import child
import keras
import numba
import numpy as np
import pytest
from kernels.frameworks import array, tensor

import layerwright as lw
from layerwright.errors import DtypeError, GradientError, KernelError, SignatureError
from layerwright.kernels import source

HERE = __file__


@lw.kernel
def leaky(x, slope=0.25):
    return x if x > 0 else slope * x


# ------------------------------------------------------------------------------------------- fingerprints
def of_default(value):
    @numba.njit
    def helper(x, k=value):
        return x * k

    return lambda x: helper(x)


def of_enum(value):
    mode = enum.Enum("Mode", {"A": value})
    return lambda x: x * mode.A.value


def of_fields(names):
    pair = collections.namedtuple("Pair", names)(1.0, 2.0)
    return lambda x: x * pair.x


def of_tuple(value):
    return lambda x: x * len(value)


def of_module(value):
    module = types.ModuleType("settings")
    module.K = value
    return lambda x: x * module.K


def of_model(value):
    return numba.njit(error_model=value)(lambda x: 1.0 / (x - 1.0) if x < 2 else x)


@pytest.mark.parametrize(
    ("make", "first", "second", "results"),
    [
        (of_default, 2.0, 3.0, (2.0, 3.0)),
        (of_enum, 2.0, 3.0, (2.0, 3.0)),
        (of_fields, "x y", "y x", (1.0, 2.0)),
        (of_tuple, ((1, 2), 3), (1, 2, 3), (2.0, 3.0)),
        (of_module, 2.0, 50.0, (2.0, 50.0)),
    ],
)
def test_kernels_that_compute_something_else_are_never_one_operation(make, first, second, results):
    kernels = lw.kernel(make(first)), lw.kernel(make(second))
    assert kernels[0].fingerprint != kernels[1].fingerprint
    x = tensor(np.ones(2, "float32"))
    assert tuple(float(array(kernel(x))[0]) for kernel in kernels) == results


@pytest.mark.once
def test_options_of_numba_tell_kernels_apart_and_an_unknown_object_is_never_shared():
    assert lw.kernel(of_model("numpy")).fingerprint != lw.kernel(of_model("python")).fingerprint
    thing = object()
    assert source.fingerprint(lambda x: x if thing else 0) is None


def test_a_constant_of_a_module_that_changes_is_noticed():
    module = types.ModuleType("settings")
    module.K = 2.0
    kernel = lw.kernel(lambda x: x * module.K)
    np.testing.assert_array_equal(array(kernel(tensor(np.ones(2, "float32")))), [2.0, 2.0])
    module.K = 5.0
    with pytest.raises(KernelError, match="`module`, which `<lambda>` reads, has changed"):
        kernel(tensor(np.ones(2, "int32")))


# ------------------------------------------------------------------------------------------ what is called
def test_arguments_have_names_and_defaults():
    x = tensor(np.float32([-1.0, 2.0]))
    np.testing.assert_array_equal(array(leaky(x)), [-0.25, 2.0])
    np.testing.assert_array_equal(array(leaky(x, slope=0.5)), [-0.5, 2.0])
    np.testing.assert_array_equal(array(leaky(slope=0.5, x=x)), [-0.5, 2.0])
    with pytest.raises(SignatureError) as error:
        leaky(x, slopes=0.5)
    assert str(error.value) == (
        "`leaky` was called with 2 arguments.\n  Expected: 2: x, slope\n  Got:      1, and slopes\n"
        "  Fix:      pass one for each."
    )


def test_lists_are_what_numbers_are(backend):
    @lw.kernel
    def half(x):
        return 0.5 * x

    assert half([1.0, 2.0]).dtype == np.float32
    assert half([1, 2]).dtype == np.float32
    assert keras.backend.standardize_dtype(half([tensor(np.float32(1.0))]).dtype) == "float32"
    assert half([2**40]).tolist() == [2.0**39]
    assert backend


@pytest.mark.once
def test_what_is_no_array_of_numbers_is_refused():
    with pytest.raises(DtypeError) as error:
        leaky(np.ma.array([1.0, 2.0], mask=[True, False]), 0.5)
    assert str(error.value) == (
        "`x` of `leaky` is a `MaskedArray`, which kernels don't take.\n"
        "  Expected: an array or a dense tensor of numbers\n  Got:      MaskedArray\n"
        "  Fix:      make it one first: `to_tensor()`, `tf.sparse.to_dense`, `filled()`."
    )
    with pytest.raises(DtypeError, match="is a `dict`"):
        leaky({}, 0.5)


@pytest.mark.once
def test_a_kernel_is_copied_as_itself_and_pickled_by_name():
    leaky(np.ones(2), 0.5)
    assert copy.deepcopy({"k": leaky})["k"] is leaky
    assert pickle.loads(pickle.dumps(leaky)) is leaky


# --------------------------------------------------------------------------------------------- definitions
def test_outputs_are_of_the_dtypes_that_are_said():
    wide = lw.kernel(outputs="int64")(lambda x: np.int64(1) << 40 if x > 0 else 0)
    assert wide(np.ones(2, "float32")).tolist() == [1 << 40] * 2
    large = lw.kernel("(n)->()", outputs=np.float64)(total)
    assert large(np.ones(2, "float32")).dtype == np.float64
    counted = lw.kernel("(n)->()", outputs=("int32",))(total)
    assert array(counted(tensor(np.full(2, 100, "int8")))).tolist() == 200


def total(x, out):
    out[0] = 0
    for i in range(x.shape[0]):
        out[0] += x[i]


@pytest.mark.once
@pytest.mark.parametrize("outputs", ["flaot32", "complex64", ("float32", "float32"), 3])
def test_outputs_that_are_no_dtypes_or_too_many_are_refused(outputs):
    with pytest.raises(SignatureError, match="`outputs` of `total` doesn't fit"):
        lw.kernel("(n)->()", outputs=outputs)(total)


@pytest.mark.once
def test_options_are_switches():
    with pytest.raises(SignatureError) as error:
        lw.kernel(parallel="no")
    assert str(error.value) == "`parallel` is a switch.\n  Expected: True or False\n  Got:      'no'"


@pytest.mark.once
def test_options_hold_for_a_dispatcher_of_numba_and_its_threads_are_left_out():
    @numba.njit(parallel=True)
    def beyond(x, out):
        for i in numba.prange(x.shape[0]):
            out[i] = x[i + 5]

    with pytest.raises(IndexError, match="index 5 is out of bounds for axis 0 with size 3"):
        lw.kernel("(n)->(n)", boundscheck=True)(beyond)(np.ones(3))
    assert lw.kernel(numba.njit(lambda x: 1.0 / x))(np.zeros(1))[0] == np.inf
    assert lw.kernel(numba.njit("float64(float64)")(lambda x: x + 1))(np.ones(1, "float32"))[0] == 2.0


@pytest.mark.once
def test_an_output_that_nobody_writes_is_refused():
    def returns(x, out):
        return x * 2

    def rebinds(x, out):
        out = x.sum()  # noqa: F841

    with pytest.raises(SignatureError) as error:
        lw.kernel("(t)->(t)")(returns)
    line = inspect.getsourcelines(returns)[1] + 1
    assert str(error.value) == (
        "`returns` returns a value, which nobody gets.\n  Expected: a function that writes `out`\n"
        f"  Got:      return x * 2\n  Fix:      write `out[...] = ...`, and return nothing.\n  Where:    {HERE}:{line}"
    )
    with pytest.raises(SignatureError, match="`rebinds` never writes `out`"):
        lw.kernel("(t)->()")(rebinds)
    scaled = lw.kernel("(t),()->(t)")(_scaled)
    with pytest.raises(SignatureError, match="`scaled_backward` never writes `d_a`"):
        scaled.backward(_scaled_backward)


def _scaled(x, a, out):
    out[:] = a * x


def _scaled_backward(x, a, out, d_out, d_x, d_a):
    d_x[:] = a * d_out


_scaled.__name__ = "scaled"


def test_a_gradient_for_too_few_inputs_is_told():
    @lw.kernel
    def times(a, x):
        return a * x

    @times.backward
    def few(a, x, y, dy):
        return dy * a

    with pytest.raises(SignatureError) as error:
        times.check_gradient(2.0, np.ones(2))
    assert str(error.value) == (
        "`times_backward` returns another number of values than it should.\n"
        "  Expected: 2, a gradient for each input\n  Got:      1\n"
        f"  Fix:      return one for each, in their order; 0.0 where there is nothing.\n  Where:    {few.place}"
    )


@pytest.mark.once
def test_what_numba_cannot_compile_is_told_at_its_line():
    @lw.kernel
    def typo(x):
        y = x + 1
        return y * undefined_name  # noqa: F821

    with pytest.raises(KernelError) as error:
        typo(np.ones(2))
    lines = str(error.value).splitlines()
    assert lines[0] == "`typo` can't be compiled by Numba for (float64)."
    assert "undefined_name" in lines[1]
    assert lines[-1].startswith(f"  Where:    {HERE}:")


@pytest.mark.once
@pytest.mark.parametrize(
    ("function", "count"),
    [
        (lambda x: (x,) + (x + 1,), 2),  # noqa: RUF005
        (lambda x: (*(x, x + 1), x + 2), 3),
        (lambda x: (x, x + 1, x + 2)[:2], 2),
    ],
)
def test_how_many_values_are_returned_is_what_numba_sees(function, count):
    found = lw.kernel(function)(np.ones(2))
    assert [y.tolist() for y in found] == [[1.0 + n] * 2 for n in range(count)]


@pytest.mark.once
def test_a_gradient_is_checked_for_some_outputs_and_inputs():
    @lw.kernel("(t),()->(),(t)")
    def square(x, scale, out, kept):
        out[0] = 0.0
        for i in range(x.shape[0]):
            kept[i] = x[i] * x[i]
            out[0] += scale * kept[i]

    @square.backward
    def _(x, scale, out, kept, d_out, d_kept, d_x, d_scale):
        d_scale[0] = 1.0  # a surrogate
        for i in range(x.shape[0]):
            d_x[i] = d_out[0] * scale * 2.0 * x[i]

    x = np.array([0.5, 2.0])
    square.check_gradient(x, 3.0, outputs=["out"], arguments=["x"])
    with pytest.raises(GradientError, match="The gradient of `square` for `x` is wrong"):
        square.check_gradient(x, 3.0)
    with pytest.raises(GradientError, match="The gradient of `square` for `scale` is wrong"):
        square.check_gradient(x, 3.0, outputs=["out"])
    with pytest.raises(SignatureError, match="has nothing of that name"):
        square.check_gradient(x, 3.0, outputs=["y"])


@pytest.mark.once
def test_without_numba_a_call_says_what_to_install():
    code = """
import sys
sys.modules["numba"] = None
import importlib.util
real = importlib.util.find_spec
importlib.util.find_spec = lambda name, *rest: None if name == "numba" else real(name, *rest)
del sys.modules["numba"]
import numpy as np, keras, layerwright as lw
@lw.kernel
def double(x):
    return 2.0 * x
try:
    double(np.ones(2))
except lw.LayerwrightError as error:
    print(str(error).splitlines()[0], str(error).splitlines()[3])
"""
    assert child.output(code) == (
        "`double` can't be compiled, because Numba isn't there.   Fix:      pip install \"layerwright[kernels]\""
    )


# -------------------------------------------------------------------------------------------------- memory
@pytest.mark.once
def test_out_of_another_byte_order_is_filled_through_a_copy():
    double = lw.kernel(lambda x: 2.0 * x)
    out = np.empty(3, ">f8")
    assert double(np.array([1.0, 2.0, 3.0]), out=out).tolist() == [2.0, 4.0, 6.0]
    assert double(out, out=out).tolist() == [4.0, 8.0, 12.0]


@pytest.mark.once
def test_a_row_that_was_overwritten_is_not_computed_again():
    @lw.kernel("(t)->(t)", boundscheck=True, aliases="x")
    def in_place(x, out):
        if x[0] == 1.0:
            out[0] = 7.0
            out[99] = 1.0
        out[100] = 1.0

    x = np.ones(3)
    with pytest.raises(IndexError) as error:
        in_place(x, out=x)
    assert str(error.value) == "index is out of bounds"
    with pytest.raises(IndexError, match="index 99"):
        in_place(np.ones(3))


@pytest.mark.once
def test_a_row_is_computed_again_in_its_own_dtype_and_without_printing_twice(capfd):
    @lw.kernel("(t)->(t)", boundscheck=True)
    def rounded(x, out):
        if x[0] + x[1] > 16777216.0:
            out[100] = 1.0
        else:
            out[200] = 1.0

    @lw.kernel("(t)->(t)", boundscheck=True)
    def talking(x, out):
        print("talking")
        out[9] = x[0]

    with pytest.raises(IndexError, match="index 200"):
        rounded(np.array([16777216, 1], "float32"))
    with pytest.raises(IndexError, match="index is out of bounds"):
        talking(np.ones(2))
    assert capfd.readouterr().out.count("talking") == 1


# ------------------------------------------------------------------------------------------ other processes
@pytest.mark.slow
def test_a_functional_model_with_a_kernel_is_loaded_where_nothing_was_called(tmp_path, monkeypatch):
    (tmp_path / "my_kernels.py").write_text(
        "import layerwright as lw\n@lw.kernel\ndef swish(b, x):\n    return b * x * x\n"
    )
    monkeypatch.setenv("PYTHONPATH", str(tmp_path), prepend=":")
    place = str(tmp_path / "m.keras")
    make = "import keras, numpy as np, my_kernels\n"
    save = f"i = keras.Input((4,))\nm = keras.Model(i, my_kernels.swish(1.5, i))\nm.save({place!r})\n"
    use = "print(float(keras.ops.sum(m(np.ones((2, 4), 'float32')))))"
    assert child.output(make + save + use) == "12.0"
    assert child.output(f"{make}m = keras.models.load_model({place!r})\n{use}") == "12.0"


@pytest.mark.backend("torch")
def test_two_kernels_that_were_never_called_compile_into_one_graph():
    import torch

    first, second = lw.kernel(lambda x: x + 17.0), lw.kernel(lambda x: x * 19.0)
    run = torch.compile(lambda x: second(first(x)), backend="aot_eager", fullgraph=True)
    assert run(torch.ones(2)).tolist() == [342.0, 342.0]


@pytest.mark.backend("torch")
def test_out_under_transforms_and_from_numbers():
    import torch

    double = lw.kernel(lambda x: 2.0 * x)
    out = torch.zeros(())
    double(2.0, out=out)
    assert float(out) == 4.0
    rows = torch.func.vmap(lambda x: double(x, out=torch.zeros_like(x)))(torch.ones(2, 3))
    assert rows.tolist() == [[2.0] * 3] * 2
    with pytest.raises(KernelError, match="can't be written"):
        double(torch.ones(2), out=torch.zeros(2).to_sparse())
    with pytest.raises(KernelError, match="can't be written"):
        double(torch.ones(2), out=3.0)


FACTOR = 2.0


@pytest.mark.backend("tensorflow")
def test_an_op_of_a_kernel_that_became_another_is_not_used_for_the_old_one(monkeypatch):
    import tensorflow as tf

    def make():
        @lw.kernel
        def scaled_by_a_global(x):
            return FACTOR * x

        return scaled_by_a_global

    first = make()
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    assert float(first(tf.constant(1.0))) == 3.0
    monkeypatch.setitem(globals(), "FACTOR", 2.0)
    second = make()
    assert float(second(tf.constant(1.0))) == 2.0
    assert float(tf.function(second)(tf.constant(1.0))) == 2.0
    assert float(first(tf.constant(1.0))) == 3.0


@pytest.mark.slow
@pytest.mark.backend("jax")
def test_core_dimensions_that_are_sharded_are_made_whole(monkeypatch):
    import os
    from pathlib import Path

    monkeypatch.setenv("PYTHONPATH", os.pathsep.join([str(Path(HERE).parents[1]), os.environ.get("PYTHONPATH", "")]))
    code = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from kernels.gallery import ema, logsumexp, power
mesh = Mesh(np.array(jax.devices()), ("d",))
def put(value, *spec):
    return jax.device_put(np.asarray(value, "float32"), NamedSharding(mesh, P(*spec)))
x = np.random.default_rng(0).normal(size=(4, 8)).astype("float32")
wanted = np.asarray(ema(x, np.float32(0.5)))
for run in (ema, jax.jit(ema)):
    for spec in ((None, "d"), ("d", None), ()):
        np.testing.assert_allclose(run(put(x, *spec), put(0.5)), wanted, 1e-5)
np.testing.assert_allclose(jax.jit(logsumexp)(put(x, None, "d")), np.log(np.exp(x).sum(1)), 1e-5)
both = jax.jit(power)(put(x[:, :1], "d", None), put(x[:1], None, "d"))
np.testing.assert_allclose(both, x[:, :1] * x[:1] ** 2, 1e-5)
nested = jax.vmap(jax.vmap(power, (None, 0)), (0, None))
np.testing.assert_allclose(
    jax.jit(nested)(put(x[:, 0], "d"), put(x, "d", None)), x[:, 0][:, None, None] * x[None] ** 2, 1e-5
)
gradient = jax.jit(jax.grad(lambda x: ema(x, 0.5).sum()))(put(x, None, "d"))
np.testing.assert_allclose(gradient, jax.grad(lambda x: ema(x, 0.5).sum())(x), 1e-5)
print("whole")
"""
    assert child.output(code) == "whole"
