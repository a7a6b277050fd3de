"""How each framework calls a kernel. Only the files of this folder name a framework."""

from __future__ import annotations

import importlib
import sys
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.errors import DtypeError, KernelError, SignatureError

# Here, so that a functional model that holds a kernel is loaded where nothing was called yet.
from layerwright.kernels.bridges import symbolic as symbolic

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def of(kernel: Kernel, args: Sequence[Any]) -> tuple[Any, list[Any]]:
    """The bridge for these arguments, and the arguments with Variables read.

    The tensors decide, not the configured backend; NumPy arrays and numbers go with whatever stands beside them.

    Raises:
        DtypeError: Where tensors of two frameworks meet.
    """
    # First what is by far the most frequent where every microsecond counts.
    torch = sys.modules.get("torch")
    if torch is not None:
        for a in args:
            if type(a) is not torch.Tensor and type(a) is not torch.nn.Parameter:
                break
        else:
            return _bridge("torch"), list(args)
    values = [_plain(a) for a in args]
    names = list(dict.fromkeys(name for value in values if (name := _home(value)) is not None))
    if "keras" in names:
        return _bridge("symbolic"), values
    if len(names) > 1:
        raise DtypeError(
            f"`{kernel.name}` was called with tensors of {' and '.join(names)}.",
            expected="tensors of one framework",
            got=", ".join(type(value).__name__ for value in values),
            fix="convert them with `keras.ops.convert_to_numpy` first.",
        )
    return _bridge(names[0] if names else "numpy"), values


def _plain(value: Any) -> Any:
    """Variables read; lists as arrays, whose numbers are what numbers alone are."""
    if isinstance(value, keras.Variable):
        return keras.ops.convert_to_tensor(value)
    if not isinstance(value, list | tuple) or any(hasattr(part, "dtype") for part in value):
        return value
    array = np.asarray(value)
    if array.dtype.kind == "f":
        return array.astype(keras.config.floatx())
    fits = array.dtype.kind == "i" and array.size > 0 and abs(array).max() < 1 << 31
    return array.astype("int32") if fits else array


def fill(kernel: Kernel, args: Sequence[Any], out: Any) -> Any:
    """Call a kernel whose outputs are there already; the result is `out`.

    Raises:
        KernelError: Where the framework's tensors can't be written.
        ShapeError, DtypeError: Where the outputs aren't as the call would give them.
    """
    targets = list(out) if isinstance(out, tuple | list) else [out]
    bridge, values = of(kernel, [*args, *targets])
    if not hasattr(bridge, "fill"):
        raise KernelError(
            f"`{kernel.name}` was called with `out`, which can't be written.",
            expected="arrays of NumPy, or tensors of PyTorch",
            got=", ".join(type(target).__name__ for target in targets),
            fix="leave out `out`; with `@lw.kernel(aliases=...)` an output takes the memory of an input that nobody "
            "else needs.",
        )
    if len(targets) != len(kernel.signature.outputs):
        raise SignatureError(
            f"`{kernel.name}` was called with {len(targets)} arrays for its outputs.",
            expected=str(len(kernel.signature.outputs)),
            got=str(len(targets)),
            fix="pass a tuple with one for each.",
        )
    bridge.fill(kernel, values[: len(args)], targets)
    return out


def _bridge(name: str) -> Any:
    if name == "torch":
        # `torch.compile` follows an import statement, and no call of `import_module`.
        from layerwright.kernels.bridges import torch

        return torch
    return importlib.import_module(f"{__name__}.{name}")


def _home(value: Any) -> str | None:
    """The framework whose tensor a value is; a framework that isn't imported has none."""
    if isinstance(value, keras.KerasTensor):
        return "keras"
    torch, jax, tensorflow = (sys.modules.get(name) for name in ("torch", "jax", "tensorflow"))
    if torch is not None and isinstance(value, torch.Tensor):
        return "torch"
    if jax is not None and isinstance(value, jax.Array):
        return "jax"
    if tensorflow is not None and isinstance(value, tensorflow.Tensor | tensorflow.Variable):
        return "tensorflow"
    return None
