"""Kernels on PyTorch: eager, autograd, `torch.func`, `torch.compile`, `torch.export`, Keras, and what must raise."""

from __future__ import annotations

import re
import threading
import types
from pathlib import Path
from typing import Any

import child
import keras
import numpy as np
import pytest
from kernels.frameworks import misdeclared

pytestmark = [
    pytest.mark.backend("torch"),
    # PyTorch: its forward mode loads scripted decompositions.
    pytest.mark.filterwarnings("ignore:`torch.jit.script` is deprecated:DeprecationWarning"),
    # PyTorch: what it says beside an exception in a gradient that is compiled.
    pytest.mark.filterwarnings("ignore:Error detected in:UserWarning"),
]
torch = pytest.importorskip("torch")

from layerwright.errors import DtypeError, GradientError, KernelError, ShapeError  # noqa: E402
from layerwright.kernels import kernel  # noqa: E402
from layerwright.kernels.bridges import torch as bridge  # noqa: E402
from layerwright.kernels.bridges import torch_autograd, torch_operations, torch_shim  # noqa: E402

FLOATS = ("float32", "float32", "float32")


@kernel
def power(p, x):
    return p * x**2


@power.backward
def power_backward(p, x, y, dy):
    return dy * x**2, dy * 2.0 * p * x


@power_backward.backward
def _(p, x, y, dy, dp, dx, gp, gx):
    return gx * dy * 2.0 * x, gp * dy * 2.0 * x + gx * dy * 2.0 * p, 0.0, gp * x**2 + gx * 2.0 * p * x


@kernel("(t),()->(t)")
def ema(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        if x[i] < -100.0:
            raise ValueError("too small")
        state = decay * state + (1.0 - decay) * x[i]
        out[i] = state


@ema.backward
def _(x, decay, out, d_out, d_x, d_decay):
    carry, total = 0.0, 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        carry += d_out[i]
        d_x[i] = (1.0 - decay) * carry
        before = out[i - 1] if i > 0 else 0.0
        total += carry * (before - x[i])
        carry *= decay
    d_decay[0] = total


@kernel
def scaled(x, n):
    return x * n, n + 1


@scaled.backward
def _(x, n, y, m, dy, dm):
    return dy * n, 0.0


@kernel("(t),(t)->()")
def dot(a, b, out):
    out[0] = 0.0
    for i in range(a.shape[0]):
        out[0] += a[i] * b[i]


@kernel(differentiable=False)
def doubled(x):
    return 2.0 * x


def slowly(x: Any, decay: Any) -> Any:
    """`ema` in PyTorch's own operations."""
    state, states = torch.zeros_like(x[..., 0]), []
    for i in range(x.shape[-1]):
        state = decay * state + (1 - decay) * x[..., i]
        states.append(state)
    return torch.stack(states, -1)


@pytest.fixture
def x() -> Any:
    return torch.rand(3, 5, requires_grad=True)


@pytest.fixture
def decay() -> Any:
    return torch.tensor(0.9, requires_grad=True)


def operator(used: Any, dtypes: tuple[str, ...] = FLOATS) -> Any:
    return bridge.operation(used, dtypes).run


def compiled(function: Any, **options: Any) -> Any:
    torch._dynamo.reset()
    return torch.compile(function, fullgraph=True, **{"backend": "aot_eager", **options})


# ---------------------------------------------------------------------------------------------- values and gradients


def test_values_are_those_of_pytorchs_own_operations(x, decay):
    torch.testing.assert_close(ema(x, decay), slowly(x, decay))
    torch.testing.assert_close(power(torch.rand(4, 1, 1), x).shape, torch.Size([4, 3, 5]))


def test_gradient_of_a_shared_number_is_summed_over_the_batch(x, decay):
    got = torch.autograd.grad(ema(x, decay).sin().sum(), (x, decay))
    expected = torch.autograd.grad(slowly(x, decay).sin().sum(), (x, decay))
    torch.testing.assert_close(got, expected)


def test_first_and_second_derivatives_are_those_of_finite_differences():
    p, x = (torch.rand(shape, dtype=torch.float64, requires_grad=True) for shape in ((3, 1), (4,)))
    assert torch.autograd.gradcheck(power, (p, x))
    assert torch.autograd.gradgradcheck(power, (p, x))


def test_batched_cotangents_give_a_jacobian(x, decay):
    function = torch.autograd.functional.jacobian
    args = (lambda v: ema(v, decay), x[0].detach())
    torch.testing.assert_close(function(*args, vectorize=True), function(*args))


def test_an_integer_input_and_output_take_no_part_in_the_gradient(x):
    y, m = scaled(x, torch.arange(5))
    assert (m.dtype, m.requires_grad) == (torch.int64, False)
    torch.testing.assert_close(torch.autograd.grad(y.sum(), x)[0], torch.arange(5.0).expand(3, 5))


def test_gradient_passes_a_checkpoint(x, decay):
    from torch.utils.checkpoint import checkpoint

    again = checkpoint(lambda v: ema(v, decay), x, use_reentrant=False)
    torch.testing.assert_close(torch.autograd.grad(again.sum(), x), torch.autograd.grad(ema(x, decay).sum(), x))


def test_a_gradient_that_is_given_late_is_used():
    @kernel
    def late(x):
        return 3.5 * x

    x = torch.ones(2, requires_grad=True)
    before = late(x)

    @late.backward
    def _(x, y, dy):
        return 3.5 * dy

    assert torch.autograd.grad(late(x).sum(), x)[0].tolist() == [3.5, 3.5]
    before.sum().backward()
    assert x.grad.tolist() == [3.5, 3.5]


def test_a_missing_gradient_raises_in_backward(x):
    y = doubled(x)
    with pytest.raises(GradientError, match="`doubled` was made with `differentiable=False`"):
        y.sum().backward()


def test_a_gradient_that_is_refused_raises_in_backward(x):
    half = kernel(differentiable=False)(lambda x: 0.5 * x)
    with pytest.raises(GradientError, match="differentiable=False"):
        half(x).sum().backward()


def test_a_missing_second_derivative_raises(x, decay):
    (first,) = torch.autograd.grad(ema(x, decay).sum(), x, create_graph=True)
    with pytest.raises(GradientError, match="no second derivative"):
        first.sum().backward()


def test_functions_of_the_shim_are_as_its_header_declares_them():
    from layerwright.kernels.bridges import torch_frames

    folder = Path(torch.__file__).parent / "include" / "torch" / "csrc" / "inductor" / "aoti_torch" / "c"
    frames = {name: value for name, value in vars(torch_frames).items() if "aoti" in str(getattr(value, "symbol", ""))}
    assert misdeclared(types.SimpleNamespace(**frames), sorted(folder.glob("*.h"))) == []


# -------------------------------------------------------------------------------------------------------- torch.func


def test_vmap_maps_any_axis_and_nests():
    vmap, p, x = torch.func.vmap, torch.arange(2.0), torch.arange(3.0)
    torch.testing.assert_close(vmap(vmap(power, (None, 0)), (0, None))(p, x), p[:, None] * x**2)
    x = torch.rand(3, 2)
    torch.testing.assert_close(vmap(power, (0, 1), 1)(p, x), p * x**2)
    torch.testing.assert_close(vmap(ema, (None, 0))(x, p).shape, torch.Size([2, 3, 2]))
    torch.testing.assert_close([y.shape for y in vmap(scaled, (1, None))(x, torch.arange(3))], [torch.Size([2, 3])] * 2)


def test_vmap_puts_the_mapped_axis_before_axes_that_broadcast():
    p, x = torch.rand(4), torch.rand(4, 2, 3)
    torch.testing.assert_close(torch.func.vmap(power)(p, x), p[:, None, None] * x**2)


def test_grad_vmap_and_jacrev_compose(x):
    func, p, x = torch.func, torch.arange(3.0), x.detach()
    by_both = func.vmap(func.grad(lambda p, x: power(p, x).sum(), (0, 1)), (0, None))(p, x)
    torch.testing.assert_close(by_both, ((x**2).sum().expand(3), 2 * p[:, None, None] * x))
    assert func.grad(func.grad(lambda v: power(torch.tensor(2.0), v)))(torch.tensor(3.0)) == 4.0
    twice = func.jacrev(func.jacrev(lambda v: power(torch.tensor(2.0), v).sum()))(x[0])
    torch.testing.assert_close(twice, 4.0 * torch.eye(5))
    assert func.vmap(func.jacrev(ema), (0, None))(x, torch.tensor(0.5)).shape == (3, 5, 5)


def test_transforms_and_autograd_around_them_know_of_each_other(x, decay):
    inner = torch.func.grad(lambda v: power(decay, v).sum())(x)
    torch.testing.assert_close(torch.autograd.grad(inner.sum(), decay)[0], 2 * x.detach().sum())
    mapped = torch.func.vmap(lambda v: power(decay, v))(x)
    torch.testing.assert_close(torch.autograd.grad(mapped.sum(), decay)[0], (x.detach() ** 2).sum())


def test_no_grad_inside_a_transform_stops_the_gradient(x):
    def loss(v: Any) -> Any:
        with torch.no_grad():
            constant = power(torch.tensor(1.0), v).sum()
        return constant + v.sum()

    grad = torch.func.grad
    assert torch.equal(grad(loss)(x.detach()), torch.ones(3, 5))
    assert torch.equal(grad(lambda v: grad(loss)(v).sum())(x.detach()), torch.zeros(3, 5))


def test_a_missing_gradient_raises_under_transforms(x):
    with pytest.raises(GradientError, match="`doubled` was made with `differentiable=False`"):
        torch.func.vmap(torch.func.grad(lambda v: doubled(v).sum()))(x)


def test_forward_mode_raises_where_it_would_be_zero(x):
    def function(v: Any) -> Any:
        return power(torch.tensor(2.0), v)

    v = x.detach()[0]
    with pytest.raises(GradientError, match="`power` has no forward-mode derivative"):
        torch.func.jvp(function, (v,), (v,))
    with pytest.raises(GradientError, match="forward-mode"):
        torch.func.hessian(lambda v: function(v).sum())(v)
    with torch.autograd.forward_ad.dual_level():
        dual = torch.autograd.forward_ad.make_dual(v, v)
        with pytest.raises(GradientError, match="forward-mode"):
            function(dual)
        with pytest.raises(GradientError, match="forward-mode"):
            operator(power)(torch.tensor(2.0), dual)


# ------------------------------------------------------------------------------------------------ compile and export


@pytest.mark.slow
@pytest.mark.parametrize(
    ("used", "dtypes", "second"),
    [
        (power, FLOATS, torch.rand(5)),
        (ema, FLOATS, torch.tensor(0.5, requires_grad=True)),
        (scaled, ("float32", "int64", "float32", "int64"), torch.arange(5)),
        (power_backward, ("float32",) * 6, None),
    ],
)
def test_opcheck_finds_nothing(x, used, dtypes, second):
    operands = (x, second) if second is not None else (torch.tensor(2.0), x, x.detach(), torch.rand(3, 5))
    results = torch.library.opcheck(operator(used, dtypes), operands)
    assert set(results.values()) == {"SUCCESS"}


@pytest.mark.parametrize("engine", ["eager", "aot_eager"])
def test_compiles_into_one_graph_before_it_was_ever_called(engine, x, decay):
    p, x = decay.detach(), x.detach()
    fresh = kernel(lambda p, x: p * x**2 + 1.25)
    torch.testing.assert_close(compiled(fresh, backend=engine)(p, x), p * x**2 + 1.25)


def test_compiling_a_gradient_that_is_missing_says_so(x):
    with pytest.raises(Exception, match="`doubled` was made with `differentiable=False`"):
        compiled(doubled)(x)


def test_compiled_gradients_are_the_same(x, decay):
    expected = torch.autograd.grad(ema(x, decay).sin().sum(), (x, decay))
    got = torch.autograd.grad(compiled(lambda x, d: ema(x, d).sin().sum())(x, decay), (x, decay))
    torch.testing.assert_close(got, expected)


def test_compiles_with_sizes_that_change_into_one_graph(decay):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("aot_eager")
    function = compiled(lambda x, d: ema(x, d) * 2, backend=counter, dynamic=True)
    for shape in ((3, 5), (4, 6), (7, 8)):
        x = torch.rand(shape, requires_grad=True)
        y = function(x, decay)
        torch.testing.assert_close(y, 2 * ema(x, decay))
        y.sum().backward()
    assert counter.frame_count == 1


def test_compiled_code_stays_when_other_kernels_are_called(x, decay):
    from torch._dynamo.testing import CompileCounterWithBackend

    counter = CompileCounterWithBackend("eager")
    function = compiled(lambda p, x: power(p, x), backend=counter)
    function(decay, x)
    fresh = kernel(lambda a, b: a + 0.625 * b)
    fresh(x, torch.nn.Parameter(torch.ones(5)))
    fresh(x.double(), 1)
    function(decay, x)
    assert counter.frame_count == 1


def test_tracing_keeps_the_operation_and_its_gradient(x, decay):
    from torch.fx.experimental.proxy_tensor import make_fx

    graph = make_fx(lambda d, x: torch.autograd.grad(ema(x, d).sum(), x)[0])(decay, x)
    names = [str(node.target) for node in graph.graph.nodes if "layerwright" in str(node.target)]
    assert [name.split("_")[0] for name in names] == ["layerwright.ema", "layerwright.ema"]


def test_compiles_with_sizes_that_are_known_only_when_it_runs():
    with torch._dynamo.config.patch(capture_dynamic_output_shape_ops=True):
        function = compiled(lambda a, m, b, n: dot(a[m], b[n]))
        a, three, two = torch.rand(6), torch.tensor([1, 0, 1, 0, 1, 0]).bool(), torch.tensor([1, 1, 0, 0, 0, 0]).bool()
        torch.testing.assert_close(function(a, three, a, three), dot(a[three], a[three]))
        with pytest.raises(RuntimeError, match="Eq"):
            function(a, three, a, two)


def test_compiles_under_transforms():
    func, p, x = torch.func, torch.arange(3.0), torch.ones(4)
    mapped = func.vmap(func.grad(lambda p, x: power(p, x).sum(), 1), (0, None))
    torch.testing.assert_close(compiled(mapped)(p, x), 2 * p[:, None] * x)


def test_compiles_with_numbers_and_halves(x):
    x = x.detach().bfloat16()
    torch.testing.assert_close(compiled(lambda x: power(2.0, x))(x), power(2.0, x))


def test_compiling_with_shapes_that_do_not_fit_says_so(x):
    with pytest.raises(Exception, match="doesn't broadcast with those before it"):
        compiled(lambda x: ema(x, torch.ones(7)))(x)


class Smooth(torch.nn.Module):
    def __init__(self) -> None:
        super().__init__()
        self.decay = torch.nn.Parameter(torch.tensor(0.3))

    def forward(self, x: Any) -> Any:
        return ema(x, self.decay) + 1


@pytest.mark.parametrize("strict", [False, True])
def test_exports_with_any_batch_and_length_and_trains(strict):
    sizes = {0: torch.export.Dim("batch"), 1: torch.export.Dim("time")}
    program = torch.export.export(Smooth(), (torch.rand(3, 7),), dynamic_shapes=(sizes,), strict=strict)
    loaded, x = program.module(), torch.rand(4, 9)
    torch.testing.assert_close(loaded(x), Smooth()(x))
    loaded(x).sum().backward()
    assert loaded.decay.grad != 0


def test_meta_tensors_have_shapes_and_dtypes():
    y, m = scaled(torch.ones(3, 1, device="meta"), torch.arange(5, device="meta"))
    assert [(v.shape, v.dtype, v.device.type) for v in (y, m)] == [
        ((3, 5), torch.float32, "meta"),
        ((3, 5), torch.int64, "meta"),
    ]


# ------------------------------------------------------------------------------------------------ dtypes and layouts


def test_numbers_arrays_and_halves_stand_beside_tensors():
    x = torch.arange(3)
    assert power(torch.tensor(2.0, dtype=torch.float16), x.bfloat16()).tolist() == [0.0, 2.0, 8.0]
    assert power(2, x).dtype == torch.int64
    assert power(2.0, x.bfloat16()).dtype == torch.bfloat16
    assert power(np.float32(2.0), x.float()).tolist() == [0.0, 2.0, 8.0]
    assert power(x.to(torch.uint16), x.to(torch.uint16)).tolist() == [0, 1, 8]


def test_autocast_computes_in_float32_and_trains(x):
    linear = torch.nn.Linear(5, 4)
    with torch.autocast("cpu", torch.bfloat16):
        y = linear(x)
        torch.testing.assert_close(ema(y, 0.5), ema(y.float(), 0.5).bfloat16())
        ema(y, torch.tensor(0.5)).sum().backward()
    assert linear.weight.grad.dtype == torch.float32


def test_inference_mode_works(x):
    with torch.inference_mode():
        assert power(torch.tensor(2.0), x).shape == (3, 5)


@pytest.mark.parametrize("view", ["x.t()", "x[:, 1::2]", "x[1:]", "x[:, :1].expand(3, 4)", "x[:0]", "x[:, :0]"])
def test_any_strides_are_read_right(x, decay, view):
    seen = eval(view, {"x": x})
    torch.testing.assert_close(power(decay, seen), decay * seen**2)
    got = torch.autograd.grad(power(decay, seen).sum(), (x, decay))
    torch.testing.assert_close(got, torch.autograd.grad((decay * seen**2).sum(), (x, decay)))


def test_lazy_negation_and_lazy_zeros_are_resolved():
    conjugated = torch.tensor([1 + 2j, 3 + 4j]).conj().imag
    assert power(torch.tensor(1.0), conjugated + 0 * conjugated).tolist() == [4.0, 16.0]
    assert doubled(conjugated).tolist() == [-4.0, -8.0]
    assert doubled(torch._efficientzerotensor(3)).tolist() == [0.0] * 3


def test_a_subclass_of_tensor_stays_one(x):
    class Marked(torch.Tensor):
        pass

    y = power(torch.tensor(2.0), x.as_subclass(Marked))
    assert type(y) is Marked
    assert torch.autograd.grad(y.sum(), x)[0].shape == x.shape


# ------------------------------------------------------------------------------------------------------------ errors


def test_shapes_and_dtypes_that_do_not_fit_are_named(x):
    with pytest.raises(ShapeError, match="`x` of `ema` has 0 axes and needs 1"):
        ema(torch.tensor(1.0), 0.5)
    with pytest.raises(ShapeError, match="doesn't broadcast"):
        ema(x, torch.ones(7))
    with pytest.raises(DtypeError, match="complex64"):
        power(2.0, torch.ones(3, dtype=torch.complex64))
    with pytest.raises(KernelError, match="don't lie in strides"):
        power(torch.tensor(2.0), torch.eye(3).to_sparse())


def test_machine_code_checks_what_is_passed_past_python(x):
    native, x = operator(ema), x.detach()
    with pytest.raises(RuntimeError, match="`x` of `ema` isn't float32"):
        native(x.double(), torch.tensor(0.5))
    with pytest.raises(RuntimeError, match=r"`x` of `ema` has a shape that doesn't fit \(t\),\(\)->\(t\)"):
        native(torch.tensor(0.5), torch.tensor(0.5))
    with pytest.raises(RuntimeError, match="`decay` of `ema` has a shape"):
        native(x, torch.rand(7))


def test_an_exception_of_a_kernel_names_its_line(x):
    with pytest.raises(RuntimeError, match=r"`ema` raised ValueError: too small\n  Where: .*test_torch.py:\d+"):
        ema(x.detach() - 200.0, 0.5)


def test_threads_may_fail_beside_one_another(x):
    wrong, bad, good = [], x.detach() - 200.0, power(torch.tensor(2.0), x.detach())

    def work() -> None:
        for _ in range(100):
            with pytest.raises(RuntimeError, match="too small"):
                ema(bad, 0.5)
            if not torch.equal(power(torch.tensor(2.0), x.detach()), good):
                wrong.append(1)

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert wrong == []


@pytest.mark.slow
def test_ten_thousand_exceptions_and_gradients_leave_nothing_behind(decay):
    import psutil

    native, here = operator(ema), psutil.Process()
    wide = torch.rand(50, 1000)  # 200 kB: one tensor that isn't released in a hundred calls shows
    cases = [(wide.t(), decay), (wide - 200.0, decay), (wide.double(), decay), (wide, torch.rand(7))]

    def rounds(count: int) -> None:
        for _ in range(count):
            for operands in cases:
                try:
                    native(*operands)
                except RuntimeError:
                    continue
        for _ in range(count // 10):
            decay.grad = None
            ema(wide, decay).sum().backward()

    rounds(100)
    before = here.memory_info().rss
    rounds(10_000 // len(cases))
    assert here.memory_info().rss - before < 20e6


# -------------------------------------------------------------------------------------------------------------- Keras


class Powered(keras.layers.Layer):
    def build(self, input_shape):
        self.p = self.add_weight(shape=(), initializer="ones", name="p")
        self.decay = self.add_weight(shape=(), initializer=keras.initializers.Constant(0.5), name="decay")

    def call(self, inputs):
        return ema(power(self.p, inputs), self.decay)


@pytest.mark.parametrize("policy", ["float32", "mixed_bfloat16"])
def test_keras_fits_predicts_and_builds_symbolically(policy):
    keras.config.set_dtype_policy(policy)
    inputs = keras.Input((4,))
    model = keras.Model(inputs, keras.layers.Dense(1, dtype="float32")(Powered()(keras.layers.Dense(6)(inputs))))
    model.compile("adam", "mse")
    x = np.random.default_rng(0).random((32, 4), "float32")
    losses = model.fit(x, x.sum(1, keepdims=True), epochs=5, verbose=0).history["loss"]
    assert losses[-1] < losses[0]
    assert model.predict(x, verbose=0).shape == (32, 1)
    assert float(model.layers[2].p.numpy()) != 1.0


# ------------------------------------------------------------------------------------ registration, and the ways back


def test_equal_kernels_share_one_operation():
    def make(slope: float, derivative: float | None) -> Any:
        made = kernel(lambda x: slope * x)
        if derivative is not None:
            made.backward(lambda x, y, dy: derivative * dy + 0.0 * (x + y))
        return operator(made, FLOATS[:2])

    assert make(1.5, 1.5) is make(1.5, 1.5)
    assert len({make(1.5, None), make(1.5, 1.5), make(1.5, 2.0), make(2.0, 2.0)}) == 4


def test_names_can_be_compiled():
    @kernel
    def __hidden(x):
        return x + 0.75

    assert re.fullmatch(r"[a-z]\w+", torch_operations.name_of(__hidden, FLOATS[:2]))
    assert re.fullmatch(r"[a-z]\w+", torch_operations.name_of(kernel(lambda x: x), FLOATS[:2]))
    assert compiled(__hidden)(torch.ones(2)).tolist() == [1.75, 1.75]


def test_the_shim_and_the_private_parts_are_there():
    """Without them everything still works, more slowly: then this fails, and someone looks."""
    assert torch_shim.library() is not None
    assert torch_autograd.known
    assert torch._C._dispatch_has_kernel_for_dispatch_key(operator(power)._schema.name, "CPU")
    assert torch_shim.code("float32") == 6
    assert torch_shim.code("bool") == 11


def check_everything(used: Any, x: Any) -> None:
    """What must hold whichever way an operation is registered; the kernel is x * x."""
    torch.testing.assert_close(used(x), x**2)
    torch.testing.assert_close(torch.autograd.grad(used(x).sum(), x)[0], 2 * x)
    v = x.detach()
    torch.testing.assert_close(torch.func.vmap(torch.func.grad(lambda v: used(v).sum()))(v), 2 * v)
    torch.testing.assert_close(compiled(used)(x), x**2)
    with pytest.raises(ShapeError, match="axes"):
        used(torch.tensor(1.0))
    with pytest.raises(RuntimeError, match=r"raised ValueError: too small\n  Where: "):
        used(v - 200.0)
    with pytest.raises(GradientError, match="no second derivative"):
        torch.autograd.grad(torch.autograd.grad(used(x).sum(), x, create_graph=True)[0].sum(), x)
    with pytest.raises(GradientError, match="forward-mode"):
        torch.func.jvp(used, (v,), (v,))


def squares(salt: float) -> Any:
    """A kernel that no other test has registered."""

    @kernel("(t)->(t)")
    def square(x, out):
        for i in range(x.shape[0]):
            if x[i] < -salt:
                raise ValueError("too small")
            out[i] = x[i] * x[i]

    @square.backward
    def _(x, out, d_out, d_x):
        for i in range(x.shape[0]):
            d_x[i] = 2.0 * x[i] * d_out[i] + 0.0 * salt

    return square


def is_native(used: Any) -> bool:
    """Whether machine code is registered for the CPU."""
    name = operator(used, FLOATS[:2])._schema.name
    return bool(torch._C._dispatch_has_kernel_for_dispatch_key(name, "CPU"))


def test_everything_holds_natively(x):
    used = squares(101.0)
    check_everything(used, x)
    assert is_native(used)


def test_everything_holds_without_the_shim(x, monkeypatch):
    monkeypatch.setattr(torch_shim, "library", lambda: None)
    used = squares(102.0)
    check_everything(used, x)
    assert not is_native(used)


def test_everything_holds_without_native_operations(x, monkeypatch):
    monkeypatch.setenv("LAYERWRIGHT_NATIVE", "0")
    used = squares(103.0)
    check_everything(used, x)
    assert not is_native(used)


def test_everything_holds_without_private_parts(x, monkeypatch):
    monkeypatch.setattr(torch_autograd, "known", False)
    check_everything(squares(104.0), x)


@pytest.mark.slow
def test_numba_is_not_imported_before_a_kernel_is_called():
    code = "import sys, layerwright.kernels.bridges.torch; print('numba' in sys.modules, 'llvmlite' in sys.modules)"
    assert child.output(code) == "False False"
