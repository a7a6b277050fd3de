"""`tf.vectorized_map` and `jacobian`: a kernel in a loop is one call, with the loop as the first leading axis."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

Apply = Callable[[str, str, Sequence[Any], Sequence[Any], str], list[Any]]


def register(kernel: Kernel, op: str, apply: Apply) -> None:
    """Tell TensorFlow how loops over an op become one; without it, it makes a `while_loop` and says so.

    Args:
        kernel: The kernel.
        op: The name of its op.
        apply: What runs an op.
    """
    try:
        from tensorflow.python.ops.parallel_for import pfor

        decorate, wrap = pfor.RegisterPFor(op), pfor.wrap
    except (ImportError, AttributeError):
        return

    def convert(loop: Any) -> list[Any]:
        inputs = stacked(kernel, [loop.input(k)[:2] for k in range(loop.num_inputs)])
        outputs = apply(op, kernel.name, inputs, loop.get_attr("Tout"), loop.get_attr("gradient"))
        return [wrap(y, True) for y in outputs]

    decorate(convert)


def stacked(kernel: Kernel, inputs: Sequence[tuple[Any, bool]]) -> list[Any]:
    """Inputs whose loop axis, where they have one, stands before as many leading axes in each."""
    cores = [len(core) for core in kernel.signature.inputs]
    own = [_rank(x) - core - int(loops) for (x, loops), core in zip(inputs, cores, strict=True)]
    most = max(own) if all(isinstance(rank, int) for rank in own) else tf.reduce_max(tf.stack(own))
    return [_widened(x, most - rank) if loops else x for (x, loops), rank in zip(inputs, own, strict=True)]


def _rank(x: Any) -> Any:
    return tf.rank(x) if x.shape.rank is None else x.shape.rank


def _widened(x: Any, axes: Any) -> Any:
    """With so many axes of size 1 after the first."""
    if isinstance(axes, int) and axes == 0:
        return x
    shape = tf.shape(x)
    return tf.reshape(x, tf.concat([shape[:1], tf.ones([axes], "int32"), shape[1:]], 0))
