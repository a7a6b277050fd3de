"""Gradients of kernels from cotangents, and their sums over the axes along which an input was broadcast."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from layerwright.kernels.dtypes import is_floating

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def of(
    kernel: Kernel,
    gradient: Kernel,
    operation: Callable[[Kernel, tuple[str, ...]], Callable[..., tuple[Any, ...]]],
    inputs: Sequence[Any],
    outputs: Sequence[Any],
    cotangents: Sequence[Any],
) -> list[Any]:
    """The gradient for each input; None for integers.

    Args:
        kernel: The kernel that gave `outputs` for `inputs`.
        gradient: The kernel that computes its gradient.
        operation: What makes an operation of a kernel for loop dtypes.
        inputs, outputs, cotangents: Tensors; a cotangent is None where nothing depends on the output.
    """
    loop = tuple(x.dtype.name for x in (*inputs, *outputs))
    floating = [
        tf.convert_to_tensor(dy)
        if is_floating(y.dtype.name) and dy is not None
        else tf.zeros_like(y, y.dtype if is_floating(y.dtype.name) else "float32")
        for y, dy in zip(outputs, cotangents, strict=True)
    ]
    derived = operation(gradient, kernel.gradient_dtypes(loop))(*inputs, *outputs, *floating)
    return [
        summed(g, x, mine, alone(kernel, inputs, k)) if is_floating(x.dtype.name) else None
        for k, (g, x, mine) in enumerate(zip(derived, inputs, kernel.signature.inputs, strict=True))
    ]


def alone(kernel: Kernel, inputs: Sequence[Any], k: int) -> bool:
    """Whether no other input has leading axes, so that this one can't have been broadcast."""
    others = [(x, core) for n, (x, core) in enumerate(zip(inputs, kernel.signature.inputs, strict=True)) if n != k]
    return all(x.shape.rank == len(core) for x, core in others)


def summed(gradient: Any, x: Any, core: Sequence[Any], whole: bool) -> Any:
    """A gradient summed over the axes along which the input was broadcast.

    Args:
        gradient: Of the full shape.
        x: The input.
        core: Its core dimensions, which are never broadcast.
        whole: Whether it is known that nothing is to be summed.
    """
    if whole:
        return gradient
    axes = _axes(gradient.shape, x.shape, len(core))
    if axes is None:
        return _summed_at_run_time(gradient, x)
    if not axes:
        return gradient
    lead = gradient.shape.rank - x.shape.rank
    total = tf.reduce_sum(gradient, axes, keepdims=True)
    return tf.squeeze(total, list(range(lead))) if lead else total


def _axes(full: Any, own: Any, core: int) -> list[int] | None:
    """The axes to sum over; None where that depends on sizes that aren't known yet."""
    if full.rank is None or own.rank is None:
        return None
    lead = full.rank - own.rank
    axes = list(range(lead))
    for axis in range(own.rank - core):
        mine, all_of_it = own[axis], full[lead + axis]
        if mine == 1 and all_of_it != 1:
            axes.append(lead + axis)
        elif mine is None and all_of_it != 1:
            return None
    return axes


def _summed_at_run_time(gradient: Any, x: Any) -> Any:
    shape = tf.shape(x)
    axes, _ = tf.raw_ops.BroadcastGradientArgs(s0=shape, s1=tf.shape(gradient))
    total = tf.reshape(tf.reduce_sum(gradient, axes), shape)
    total.set_shape(x.shape)
    return total
