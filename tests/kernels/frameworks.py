"""What the tests need of the running framework: gradients, compiled functions."""

from __future__ import annotations

import re
from collections.abc import Callable, Sequence
from pathlib import Path
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


def misdeclared(module: Any, headers: Sequence[Path]) -> list[str]:
    """The C functions that a module declares for machine code with another number of arguments than the headers say."""
    from numba.core import types

    text = re.sub(r"//[^\n]*|/\*.*?\*/", " ", "\n".join(path.read_text() for path in headers), flags=re.DOTALL)
    wrong = []
    declared = [value for value in vars(module).values() if isinstance(value, types.ExternalFunction)]
    for function in {value.symbol: value for value in declared}.values():
        found = re.search(rf"\b{function.symbol}\s*\(([^;{{}}]*?)\)\s*;", text)
        given = [part for part in found[1].split(",") if part.strip() not in ("", "void")] if found else None
        if given is None or len(given) != len(function.sig.args):
            wrong.append(f"{function.symbol}: {len(function.sig.args)} arguments, not {given}")
    assert len(declared) > 5
    return wrong
