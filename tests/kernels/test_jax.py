"""Kernels under the transformations of JAX, over several devices, exported, and with another header."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

import child
import numpy as np
import pytest
from kernels.gallery import ema, power

import layerwright as lw

# Where a process of its own finds the gallery.
PLACES = os.pathsep.join([str(Path(__file__).parents[1]), *sys.path])
pytestmark = pytest.mark.backend("jax")
jax = pytest.importorskip("jax")
jnp = jax.numpy


def reference(x, decay):
    def step(state, value):
        state = decay * state + (1.0 - decay) * value
        return state, state

    return jax.vmap(lambda row: jax.lax.scan(step, jnp.zeros((), row.dtype), row)[1])(x)


@pytest.fixture
def x():
    return jnp.asarray(np.random.default_rng(0).normal(size=(3, 5)).astype("float32"))


def test_vmap_nests_over_any_argument(x):
    values = jnp.arange(3.0)
    np.testing.assert_allclose(
        jax.vmap(jax.vmap(power, (None, 0)), (0, None))(values, x[0]), values[:, None] * x[0] ** 2
    )
    np.testing.assert_allclose(jax.vmap(power)(values, x), values[:, None] * x**2, 1e-6)
    np.testing.assert_allclose(jax.vmap(ema, (1, None), 1)(x[None], 0.5), reference(x, 0.5)[None], 1e-5)


def test_gradients_pass_jit_vmap_scan_cond_and_remat(x):
    def loss(f):
        return lambda x, decay: jnp.sum(jnp.sin(f(x, decay)))

    wanted = jax.grad(loss(reference), (0, 1))(x, 0.9)
    forms = {
        "jit": jax.jit(jax.grad(loss(ema), (0, 1))),
        "remat": jax.grad(loss(jax.checkpoint(ema)), (0, 1)),
        "cond": jax.grad(loss(lambda x, d: jax.lax.cond(d > 0, ema, lambda x, _: x, x, d)), (0, 1)),
    }
    for name, form in forms.items():
        for got, value in zip(form(x, 0.9), wanted, strict=True):
            np.testing.assert_allclose(got, value, 1e-5, 1e-6, err_msg=name)
    rows = jax.vmap(jax.grad(loss(ema)), (0, None))(x[:, None], 0.9)
    np.testing.assert_allclose(rows[:, 0], wanted[0], 1e-5, 1e-6)
    carried = jax.grad(lambda p: jax.lax.scan(lambda c, v: (power(c, v), c), p, jnp.array([1.0, 2.0]))[0])(3.0)
    assert float(carried) == 4.0


def test_second_derivatives_go_through_the_gradients_own_backward():
    value = jax.grad(jax.grad(lambda x: power(3.0, x)))(2.0)
    assert float(value) == 6.0
    mixed = jax.grad(lambda p: jax.grad(power, 1)(p, 2.0))(3.0)
    assert float(mixed) == 4.0
    with pytest.raises(
        lw.LayerwrightError, match="`ema_backward` has no gradient, so that there is no second derivative"
    ):
        jax.grad(lambda d: jax.grad(lambda d: ema(jnp.ones(3), d).sum())(d))(0.5)


def test_forward_mode_is_refused_and_not_zero():
    with pytest.raises(TypeError, match="forward-mode"):
        jax.jvp(lambda x: power(2.0, x), (1.0,), (1.0,))


def test_what_a_kernel_raises_is_an_error_of_xla_and_the_process_goes_on():
    @lw.kernel("(n)->(n)")
    def warm(x, out):
        for i in range(x.shape[0]):
            if x[i] < 0:
                raise ValueError("below zero")
            out[i] = x[i]

    for call in (warm, jax.jit(warm)):
        with pytest.raises(
            jax.errors.JaxRuntimeError, match=r"`warm` raised ValueError: below zero\n  Where:    .*test_jax"
        ):
            call(jnp.array([1.0, -1.0])).block_until_ready()
    np.testing.assert_array_equal(jax.jit(warm)(jnp.ones(2)), np.ones(2))


def test_an_exported_function_runs_again(x):
    name = re.search(r"layerwright\.ema\.\S+?(?=\(|\"|')", jax.jit(lambda x: ema(x, 0.5)).lower(x).as_text())
    assert name is not None
    safe = [jax.export.DisabledSafetyCheck.custom_call(name.group(0))]
    exported = jax.export.export(jax.jit(lambda x: ema(x, 0.5)), disabled_checks=safe)(x)
    again = jax.export.deserialize(exported.serialize())
    np.testing.assert_allclose(again.call(x), reference(x, 0.5), 1e-5, 1e-6)


def test_the_offsets_are_those_of_the_header_that_jaxlib_ships():
    from layerwright.kernels.bridges import jax_frames as frames

    header = (Path(jax.ffi.include_dir()) / "xla/ffi/api/c_api.h").read_text()
    codes = dict(re.findall(r"XLA_FFI_DataType_(\w+) = (\d+)", header))
    names = {"bool": "PRED", "uint8": "U8", "int8": "S8", "float32": "F32", "float64": "F64"}
    names |= {
        f"{kind}int{bits}": f"{letter}{bits}" for kind, letter in (("", "S"), ("u", "U")) for bits in (16, 32, 64)
    }
    assert {dtype: int(codes[names[dtype]]) for dtype in frames.CODES} == frames.CODES
    for side, pointers in (("XLA_FFI_Args", "args"), ("XLA_FFI_Rets", "rets")):
        assert offsets(header, side)["size"] == frames.COUNT
        assert offsets(header, side)[pointers] == frames.POINTERS == frames.SIDE_BYTES - 8
    assert offsets(header, "XLA_FFI_Buffer")["dims"] == frames.BUFFER_BYTES - 8
    assert re.search(r"#define XLA_FFI_API_MAJOR (\d+)", header)[1] == str(frames.MAJOR)
    assert offsets(header, "XLA_FFI_CallFrame")["args"] == frames.ARGUMENTS
    assert offsets(header, "XLA_FFI_CallFrame")["rets"] == frames.RESULTS
    assert offsets(header, "XLA_FFI_CallFrame")["stage"] == frames.STAGE
    assert offsets(header, "XLA_FFI_CallFrame")["api"] == frames.API
    buffer = offsets(header, "XLA_FFI_Buffer")
    assert (buffer["dtype"], buffer["data"], buffer["rank"], buffer["dims"]) == (
        frames.BUFFER_DTYPE,
        frames.BUFFER_DATA,
        frames.BUFFER_RANK,
        frames.BUFFER_SIZES,
    )
    assert re.search(r"XLA_FFI_ExecutionStage_EXECUTE = (\d+)", header).group(1) == str(frames.EXECUTE)


# Sizes of what stands in these structures; every pointer and every size_t has eight bytes.
SIZES = {"int32_t": 4, "XLA_FFI_DataType": 4, "XLA_FFI_ExecutionStage": 4, "XLA_FFI_Args": 40, "XLA_FFI_Rets": 40}
SIZES |= {"XLA_FFI_Attrs": 48}


def offsets(header: str, name: str) -> dict[str, int]:
    """The offsets of the fields of a structure, as a C compiler lays them out on 64 bits."""
    body = re.search(rf"struct {name} \{{(.*?)\}};", header, re.DOTALL).group(1)
    found, place = {}, 0
    for kind, star, field in re.findall(r"^\s*(?:const )?(\w+)\s*(\*{0,2})\s*(\w+);", body, re.MULTILINE):
        size = 8 if star else SIZES.get(kind, 8)
        place = -(-place // min(size, 8)) * min(size, 8)
        found[field] = place
        place += size
    return found


SHARDED = """
import os
os.environ["XLA_FLAGS"] = "--xla_force_host_platform_device_count=4"
import jax, jax.numpy as jnp, numpy as np
from jax.sharding import Mesh, NamedSharding, PartitionSpec as P
from kernels.gallery import ema, power
from kernels.test_jax import reference
mesh = Mesh(np.array(jax.devices()), ("d",))
values = np.random.default_rng(0).normal(size=(8, 6)).astype("float32")
x = jax.device_put(values, NamedSharding(mesh, P("d", None)))
decay = jax.device_put(np.float32(0.9), NamedSharding(mesh, P()))
loss = lambda f: lambda x, d: jnp.sum(jnp.sin(f(x, d)))
inner = jax.shard_map(ema, mesh=mesh, in_specs=(P("d", None), P()), out_specs=P("d", None))
wanted = {"value": (reference(values, 0.9),), "grad": jax.grad(loss(reference), (0, 1))(values, 0.9)}
calls = {
    "value": lambda x, d: (ema(x, d),),
    "grad": jax.grad(loss(ema), (0, 1)),
    "value in shard_map": lambda x, d: (inner(x, d),),
    "grad of shard_map": jax.grad(loss(inner), (0, 1)),
}
for name, call in calls.items():
    compiled = jax.jit(call).lower(x, decay).compile()
    assert compiled.as_text().count("all-gather") == 0, name
    got = compiled(x, decay)
    assert got[0].sharding.spec[0] == "d", name
    for a, b in zip(got, wanted[name.split()[0]], strict=True):
        np.testing.assert_allclose(a, b, 1e-5, 1e-5)
batched = jax.jit(jax.vmap(ema, (None, 0)))(x, jnp.full(3, 0.9))
np.testing.assert_allclose(batched[1], wanted["value"][0], 1e-5, 1e-5)
print("sharded")
"""


@pytest.mark.slow
def test_a_batch_that_is_sharded_is_not_gathered(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PLACES)
    assert child.output(SHARDED) == "sharded"


@pytest.mark.slow
def test_the_persistent_cache_of_xla_is_hit(tmp_path, monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PLACES)
    code = (
        "import jax, jax.numpy as jnp\n"
        f"jax.config.update('jax_compilation_cache_dir', {str(tmp_path)!r})\n"
        "jax.config.update('jax_persistent_cache_min_compile_time_secs', 0)\n"
        "jax.config.update('jax_persistent_cache_min_entry_size_bytes', -1)\n"
        "from kernels.gallery import ema\n"
        "hits = []\n"
        "jax.monitoring.register_event_listener(lambda e, **_: hits.append(e) if e.endswith('cache_hits') else None)\n"
        "y = jax.jit(lambda x: ema(x, 0.5))(jnp.ones((2, 3)))\n"
        "print(len(hits), float(y.sum()))"
    )
    first, second = (child.output(code).split() for _ in range(2))
    assert first[0] == "0"
    assert int(second[0]) >= 1
    assert first[1] == second[1]


@pytest.mark.slow
def test_without_native_operations_everything_is_the_same(monkeypatch):
    monkeypatch.setenv("PYTHONPATH", PLACES)
    code = (
        "import jax, jax.numpy as jnp, numpy as np\n"
        "from kernels.gallery import ema, power\nfrom kernels.test_jax import reference\n"
        "x = jnp.arange(12.0).reshape(3, 4)\n"
        "f = jax.jit(jax.grad(lambda x, d: jnp.sum(jnp.sin(ema(x, d))), (0, 1)))\n"
        "g = jax.grad(lambda x, d: jnp.sum(jnp.sin(reference(x, d))), (0, 1))\n"
        "for a, b in zip(f(x, 0.5), g(x, 0.5)): np.testing.assert_allclose(a, b, 1e-4, 1e-4)\n"
        "np.testing.assert_allclose(jax.vmap(power)(jnp.arange(3.0), x), jnp.arange(3.0)[:, None] * x**2)\n"
        "assert 'pure_callback' in str(jax.make_jaxpr(lambda x: ema(x, 0.5))(x))\n"
        "print('same')"
    )
    assert child.output(code, {"LAYERWRIGHT_NATIVE": "0"}) == "same"
