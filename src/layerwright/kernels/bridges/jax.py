"""Kernels as XLA custom calls: `jit`, `grad`, `vmap`, `scan`, sharding along the batch."""

from __future__ import annotations

import threading
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import jax
import jax.numpy as jnp
import numpy as np

from layerwright.kernels import native
from layerwright.kernels.bridges import jax_sharding as sharding
from layerwright.kernels.bridges import numpy as host
from layerwright.kernels.dtypes import WEAK, is_floating
from layerwright.kernels.signature import broadcast_axes

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_lock = threading.RLock()
_targets: dict[tuple[int, tuple[str, ...]], str] = {}
_registered: set[str] = set()
_operations: dict[tuple[int, tuple[str, ...]], Callable[..., Any]] = {}


def call(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    """Call a kernel with arrays of JAX, traced or not."""
    arrays = [value if type(value) in WEAK else jnp.asarray(value) for value in values]
    plan = kernel.plan([type(a) if type(a) in WEAK else a.dtype.name for a in arrays])
    inputs = [jnp.asarray(a, dtype) for a, dtype in zip(arrays, plan.inputs, strict=True)]
    inputs = [x.astype(dtype) for x, dtype in zip(inputs, plan.loop, strict=False)]
    outputs = operation(kernel, plan.loop)(*inputs)
    return [y.astype(dtype) for y, dtype in zip(outputs, plan.outputs, strict=True)]


def operation(kernel: Kernel, dtypes: tuple[str, ...]) -> Callable[..., tuple[Any, ...]]:
    """A kernel for some loop dtypes as a differentiable function of JAX."""
    key = (id(kernel), dtypes)
    with _lock:
        if key not in _operations:
            _operations[key] = _differentiable(kernel, dtypes)
        return _operations[key]


def _differentiable(kernel: Kernel, dtypes: tuple[str, ...]) -> Callable[..., tuple[Any, ...]]:
    count = len(kernel.arguments)

    @jax.custom_vjp
    def primal(*inputs: Any) -> tuple[Any, ...]:
        return _run(kernel, dtypes, inputs)

    def forward(*inputs: Any) -> tuple[tuple[Any, ...], Any]:
        kernel.derivative(dtypes)  # raises where there is none
        outputs = primal(*inputs)
        return outputs, (inputs, outputs)

    def backward(kept: Any, cotangents: Any) -> tuple[Any, ...]:
        inputs, outputs = kept
        floating = [
            jnp.zeros(y.shape, "float32") if dy.dtype == jax.dtypes.float0 else dy
            for y, dy in zip(outputs, cotangents, strict=True)
        ]
        gradients = operation(kernel.derivative(dtypes), kernel.gradient_dtypes(dtypes))(*inputs, *outputs, *floating)
        return tuple(
            _summed(g, x.shape) if is_floating(dtype) else np.zeros(x.shape, jax.dtypes.float0)
            for g, x, dtype in zip(gradients, inputs, dtypes[:count], strict=True)
        )

    primal.defvjp(forward, backward)
    return lambda *inputs: primal(*_alike(inputs))


def _summed(gradient: Any, shape: tuple[int, ...]) -> Any:
    """A gradient summed over the axes along which the input was broadcast."""
    axes = broadcast_axes(gradient.shape, shape)
    return jnp.sum(gradient, axis=axes).reshape(shape) if axes else gradient


def _run(kernel: Kernel, dtypes: tuple[str, ...], inputs: Sequence[Any]) -> tuple[Any, ...]:
    # Under vmap an axis comes in front of every operand: leading axes must be as many for each.
    ranks = [x.ndim - len(dims) for x, dims in zip(inputs, kernel.signature.inputs, strict=True)]
    lead = max(ranks, default=0)
    level = [x.reshape((1,) * (lead - rank) + x.shape) for x, rank in zip(inputs, ranks, strict=True)]
    if sharding.many_devices() and not _varying(level):  # inside of `shard_map` there are shards only
        again = partial(_run_level, kernel, dtypes)
        return sharding.partitioned(partial(_foreign, kernel, dtypes), kernel.signature, level, again)
    return _foreign(kernel, dtypes, *level)


def _run_level(kernel: Kernel, dtypes: tuple[str, ...], *inputs: Any) -> tuple[Any, ...]:
    return _run(kernel, dtypes, inputs)


def _foreign(kernel: Kernel, dtypes: tuple[str, ...], *inputs: Any) -> tuple[Any, ...]:
    """The call into machine code, of inputs with as many leading axes each."""
    shapes = kernel.shapes([x.shape for x in inputs])
    results = [_like(inputs, shape, dtype) for shape, dtype in zip(shapes, dtypes[len(inputs) :], strict=True)]
    if not _native():
        return tuple(
            jax.pure_callback(lambda *x: _on_host(kernel, dtypes, x), results, *inputs, vmap_method="expand_dims")
        )
    aliases = {
        i: k
        for k, i in enumerate(kernel.aliases)
        if i is not None and (inputs[i].shape, inputs[i].dtype) == (results[k].shape, results[k].dtype)
    }
    foreign = jax.ffi.ffi_call(
        _target(kernel, dtypes), results, vmap_method="expand_dims", input_output_aliases=aliases or None
    )
    if not aliases:
        return tuple(foreign(*inputs))
    # Under vmap an input may be without the axis that its output has, and can't give its memory then.
    return tuple(sharding.with_axis(foreign, partial(_run_level, kernel, dtypes))(*inputs))


def _like(inputs: Sequence[Any], shape: Sequence[int | None], dtype: str) -> Any:
    """The type of a result; inside of `shard_map` it varies over the axes over which the inputs do."""
    if not _varying(inputs):
        return jax.ShapeDtypeStruct(shape, dtype)
    return jax.typeof(inputs[0]).update(shape=tuple(shape), dtype=np.dtype(dtype))


def _varying(inputs: Sequence[Any]) -> frozenset[Any]:
    """The axes of a `shard_map` over which any of the inputs varies."""
    found: frozenset[Any] = frozenset()
    for kind in map(jax.typeof, inputs):
        axes: Any = getattr(kind, "vma", None) or getattr(getattr(kind, "mat", None), "varying", ())
        found |= frozenset(axes)
    return found


def _alike(inputs: Sequence[Any]) -> list[Any]:
    """Inputs that vary over the same axes of a `shard_map`; what was replicated is summed over them in the gradient."""
    varying = _varying(inputs)
    missing = [tuple(sorted(varying - _varying([x]))) for x in inputs]
    return [jax.lax.pcast(x, axes, to="varying") if axes else x for x, axes in zip(inputs, missing, strict=True)]


def _on_host(kernel: Kernel, dtypes: tuple[str, ...], inputs: Sequence[Any]) -> list[np.ndarray]:
    return host.compute(kernel, dtypes, [np.asarray(x) for x in inputs])


@cache
def _native() -> bool:
    return native.usable("jax") and jax.default_backend() == "cpu"


def _target(kernel: Kernel, dtypes: tuple[str, ...]) -> str:
    """The name under which XLA knows the kernel; registered once a process for everything that computes the same."""
    key = (id(kernel), dtypes)
    with _lock:
        if key not in _targets:
            name = f"layerwright.{native.unique_name(kernel)}.{'.'.join(dtypes)}"
            if name not in _registered:
                from layerwright.kernels.bridges import jax_frames
                from layerwright.kernels.tables import table
                from layerwright.kernels.trampolines import entry

                address = entry(jax_frames.handler.address, 1, table(kernel, dtypes, jax_frames.CODES.__getitem__))
                jax.ffi.register_ffi_target(name, jax.ffi.pycapsule(address), platform="cpu")
                _registered.add(name)
            _targets[key] = name
        return _targets[key]
