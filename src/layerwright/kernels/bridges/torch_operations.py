"""Registers kernels with PyTorch's dispatcher: one operation for each kernel and loop dtypes."""

from __future__ import annotations

import dataclasses
import re
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from layerwright.errors import KernelError, LayerwrightError
from layerwright.kernels import native
from layerwright.kernels.bridges import numpy as host
from layerwright.kernels.bridges import torch_autograd as autograd
from layerwright.kernels.bridges import torch_shim as shim
from layerwright.kernels.bridges.torch_shapes import batched, output_shapes

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_library = torch.library.Library(shim.NAMESPACE, "FRAGMENT")
_lock = threading.RLock()


@dataclasses.dataclass(frozen=True)
class Operation:
    """A kernel for some loop dtypes as a differentiable function.

    Attributes:
        name: Of the operation.
        run: The operation as the dispatcher knows it.
        eager: The same where nothing is compiled.
        single: Whether it has one output.
    """

    name: str
    run: Any
    eager: Any
    single: bool

    def __call__(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """Compute; one tensor for each output."""
        if torch.compiler.is_compiling():
            outputs = self.run(*inputs)
            return (outputs,) if self.single else outputs
        return self.of(*inputs)

    def of(self, *inputs: torch.Tensor) -> tuple[torch.Tensor, ...]:
        """The same where nothing is compiled."""
        outputs = self.eager(*inputs)
        return (outputs,) if self.single else outputs


registered: dict[str, Operation] = {}


def make(kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    """The operation of a kernel for some loop dtypes; it is registered where none computes the same yet."""
    name = name_of(kernel, dtypes)
    with _lock:
        if name not in registered:
            registered[name] = _register(name, kernel, dtypes)
        return registered[name]


def name_of(kernel: Kernel, dtypes: Sequence[str]) -> str:
    """What an operation is called: it tells the kernel, its gradients and the dtypes."""
    marks, derived = [native.unique_name(kernel)], kernel.gradient
    while derived is not None:
        marks.append(native.unique_name(derived).rpartition(".")[2])
        derived = derived.gradient
    # A name that starts with two underscores is mangled by `torch.compile`.
    name = re.sub(r"\W", "_", "_".join([*marks, *dtypes])).lstrip("_")
    return name if name[0].isalpha() else f"k_{name}"


def device(tensors: Sequence[Any]) -> torch.device:
    """Where the outputs are: with the first tensor that isn't on the CPU."""
    found = [x.device for x in tensors if isinstance(x, torch.Tensor)]
    return next((where for where in found if where.type != "cpu"), found[0])


def _register(name: str, kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    """Define an operation: machine code on the CPU, the host elsewhere; shapes, the derivative, `vmap`."""
    inputs, outputs = len(kernel.signature.inputs), len(kernel.signature.outputs)
    single, full = outputs == 1, f"{shim.NAMESPACE}::{name}"
    arguments = ", ".join(f"Tensor x{n}" for n in range(inputs))
    results = "Tensor" if single else f"({', '.join(['Tensor'] * outputs)})"
    _library.define(f"{name}({arguments}) -> {results}", tags=(torch.Tag.pt2_compliant_tag,))
    run = getattr(getattr(torch.ops, shim.NAMESPACE), name).default

    def shaped(*given: torch.Tensor) -> Any:
        where = device(given)
        made = tuple(
            torch.empty(shape, dtype=getattr(torch, dtype), device=where)
            for shape, dtype in zip(output_shapes(kernel, given), dtypes[inputs:], strict=True)
        )
        return made[0] if single else made

    def mapped(_info: Any, in_dims: Any, *given: torch.Tensor) -> Any:
        return run(*batched(kernel.signature, given, in_dims)), 0 if single else (0,) * outputs

    def on_host(*given: torch.Tensor) -> Any:
        made = _through_host(kernel, dtypes, given)
        return made[0] if single else made

    _library.impl(name, on_host, "CompositeExplicitAutograd")
    torch.library.register_fake(full, shaped, lib=_library)
    torch.library.register_vmap(full, mapped, lib=_library)
    if native.usable("torch") and shim.library() is not None and all(shim.code(dtype) >= 0 for dtype in dtypes):
        _implement(name, kernel, dtypes)
    return Operation(name, run, _differentiate(run, kernel, dtypes), single)


def _differentiate(run: Any, kernel: Kernel, dtypes: tuple[str, ...]) -> Any:
    """Register the derivative; what calls the operation where nothing is compiled."""
    rule, name = autograd.Rule(kernel, dtypes), run._schema.name
    if autograd.known:
        function = autograd.function_of(rule)
        _library.impl(run, autograd.kernel_of(run, function), "Autograd", with_keyset=True)
        return autograd.eager_of(run, function)
    torch.library.register_autograd(
        name, lambda ctx, *dy: rule.gradients(ctx, dy, ctx.needs_input_grad), setup_context=rule.keep, lib=_library
    )
    return autograd.public_function_of(run, rule, lambda given, axes: batched(kernel.signature, given, axes)).apply


def _implement(name: str, kernel: Kernel, dtypes: tuple[str, ...]) -> None:
    """Give an operation its machine code."""
    from layerwright.kernels.bridges import torch_frames
    from layerwright.kernels.tables import table
    from layerwright.kernels.trampolines import entry

    shim.implement(name, entry(torch_frames.boxed.address, 3, table(kernel, dtypes, shim.code)))


def _through_host(kernel: Kernel, dtypes: tuple[str, ...], given: Sequence[torch.Tensor]) -> tuple[torch.Tensor, ...]:
    """Run a kernel where PyTorch can't call machine code: on another device, or on another system."""
    if any(x.layout != torch.strided for x in given):
        raise KernelError(
            f"`{kernel.name}` was called with a tensor whose elements don't lie in strides.",
            expected="torch.strided",
            got=", ".join(str(x.layout) for x in given),
            fix="call `to_dense()` first.",
        )
    try:
        outputs = host.compute(kernel, dtypes, [x.numpy(force=True) for x in given])
    except LayerwrightError:
        raise
    except Exception as error:
        raise RuntimeError("\n".join(getattr(error, "__notes__", [str(error)]))) from error
    return tuple(torch.from_numpy(y).to(device(given)) for y in outputs)
