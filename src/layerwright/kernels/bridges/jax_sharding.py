"""Kernels over several devices: leading axes may be sharded, core dimensions are whole on each.

Without this XLA gathers every operand of a call that it doesn't know.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import jax
from jax.custom_batching import custom_vmap
from jax.experimental.custom_partitioning import custom_partitioning
from jax.sharding import NamedSharding, PartitionSpec

from layerwright.kernels.signature import Dims, Signature, resolve

Function = Callable[..., tuple[Any, ...]]


def partitioned(run: Function, signature: Signature, inputs: Sequence[Any], again: Function) -> tuple[Any, ...]:
    """Call `run` with as many leading axes for each input, so that it runs on the shards of every device.

    Args:
        run: The foreign call, of whatever shapes.
        signature: Its core dimensions.
        inputs: What it is called with.
        again: Called with one leading axis more for every input, under `vmap`.
    """
    shapes = [tuple(x.shape) for x in inputs]
    whole, rule, core = sharding_rule(signature, shapes)
    lead = len(shapes[0]) - len(signature.inputs[0])

    def lower(mesh: Any, arguments: Any, results: Any) -> Any:
        # Leading axes lie as those of the first output do; what was given another way, or along core dimensions, which
        # must be whole, XLA brings there.
        batch = tuple(results[0].sharding.spec[:lead])
        batch += (None,) * (lead - len(batch))
        sizes = results[0].shape[:lead]

        def laid(value: Any) -> NamedSharding:
            axes = [axis if value.shape[n] == sizes[n] else None for n, axis in enumerate(batch)]
            return NamedSharding(mesh, PartitionSpec(*axes, *[None] * (len(value.shape) - lead)))

        return mesh, run, tuple(map(laid, results)), tuple(map(laid, arguments))

    foreign = custom_partitioning(run)
    foreign.def_partition(lower, sharding_rule=rule, need_replication_factors=core)

    return tuple(with_axis(foreign, again)(*inputs)) if whole else tuple(run(*inputs))


def with_axis(run: Function, again: Function) -> Function:
    """`run`, and under `vmap` `again` with one leading axis more for every input."""

    @custom_vmap
    def batched(*values: Any) -> Any:
        return tuple(run(*values))

    @batched.def_vmap
    def over_an_axis(size: int, mapped: Sequence[bool], *values: Any) -> Any:  # noqa: ARG001 - custom_vmap's signature
        level = [x if here else x[None] for x, here in zip(values, mapped, strict=True)]
        outputs = again(*level)
        return outputs, (True,) * len(outputs)

    return batched


def sharding_rule(signature: Signature, shapes: Sequence[tuple[int, ...]]) -> tuple[bool, str, tuple[str, ...]]:
    """Which axes belong together, as Shardy writes it; the factors that must be whole; and whether any needn't be.

    An axis of size 1 beside a larger one has a factor of its own, which isn't sharded.
    """
    count = iter(range(1_000_000))
    lead = len(shapes[0]) - len(signature.inputs[0])
    results = resolve(signature, shapes, "", [""] * len(shapes))
    batch = results[0][:lead]
    core = {dim: f"c{n}" for n, dim in enumerate(signature.names)}
    fixed: list[str] = []

    def factors(dims: Dims, shape: Sequence[int | None]) -> str:
        names = [f"b{n}" if shape[n] == batch[n] else f"s{next(count)}" for n in range(lead)]
        for dim in dims:
            names.append(core[dim] if isinstance(dim, str) else f"f{next(count)}")
            fixed.extend([names[-1]] if names[-1] not in fixed else [])
        return " ".join(names)

    left = ", ".join(factors(dims, shape) for dims, shape in zip(signature.inputs, shapes, strict=True))
    right = ", ".join(factors(dims, shape) for dims, shape in zip(signature.outputs, results, strict=True))
    return lead > 0, f"{left} -> {right}", tuple(fixed)


def many_devices() -> bool:
    """Whether there is anything to shard over."""
    return bool(jax.device_count() > 1)
