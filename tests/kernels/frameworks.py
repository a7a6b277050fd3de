"""What the tests need of the running framework: gradients, compiled functions."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import keras
import numpy as np


def tensor(x: Any, dtype: str | None = None) -> Any:
    """A tensor of the running framework."""
    return keras.ops.convert_to_tensor(x, dtype)


def array(x: Any) -> np.ndarray:
    """A tensor as an array; halves as float32."""
    return np.asarray(keras.ops.convert_to_numpy(keras.ops.cast(x, "float32") if "float16" in str(x.dtype) else x))


def compiled(function: Callable[..., Any]) -> Callable[..., Any]:
    """The function as the framework's own compiler runs it."""
    backend = keras.backend.backend()
    if backend == "tensorflow":
        import tensorflow as tf

        return tf.function(function)
    if backend == "jax":
        import jax

        return jax.jit(function)
    import torch

    torch._dynamo.reset()  # it compiles one line of code for eight kernels only
    return torch.compile(function, backend="aot_eager", fullgraph=True)


def gradients(function: Callable[..., Any], inputs: Sequence[Any]) -> list[np.ndarray | None]:
    """The gradients of a scalar function of tensors; None for an integer one."""
    backend = keras.backend.backend()
    floating = [n for n, x in enumerate(inputs) if "float" in str(x.dtype)]
    if backend == "tensorflow":
        import tensorflow as tf

        with tf.GradientTape() as tape:
            tape.watch([inputs[n] for n in floating])
            value = function(*inputs)
        found = tape.gradient(value, [inputs[n] for n in floating])
    elif backend == "jax":
        import jax

        found = jax.grad(function, tuple(floating))(*inputs)
    else:
        import torch

        leaves = [x.detach().clone().requires_grad_(n in floating) for n, x in enumerate(inputs)]
        found = torch.autograd.grad(function(*leaves), [leaves[n] for n in floating])
    by_input = dict(zip(floating, map(array, found), strict=True))
    return [by_input.get(n) for n in range(len(inputs))]
