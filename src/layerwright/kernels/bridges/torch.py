"""Kernels as operations of PyTorch's dispatcher: eager, autograd, `torch.compile`, `torch.export`, `torch.func`."""

from __future__ import annotations

import dataclasses
import threading
from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import torch

from layerwright.errors import GradientError, KernelError
from layerwright.kernels.bridges import numpy as host
from layerwright.kernels.bridges.torch_operations import Operation, device, make, registered
from layerwright.kernels.bridges.torch_shim import NAMESPACE
from layerwright.kernels.dtypes import WEAK

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


@dataclasses.dataclass(frozen=True)
class Call:
    """How arguments of some dtypes are computed.

    Attributes:
        name: The operation's; `torch.compile` takes constants such as this one from a function that it doesn't follow.
        given: What each argument is cast to.
        loop: What it is computed in.
        outputs: What the outputs are cast to.
        plain: Whether every argument is a tensor, and nothing is cast.
        single: Whether it has one output.
    """

    name: str
    given: tuple[torch.dtype, ...]
    loop: tuple[torch.dtype, ...]
    outputs: tuple[torch.dtype, ...]
    plain: bool
    single: bool


_lock = threading.RLock()
_calls: dict[tuple[Any, ...], tuple[Kernel, Kernel | None, Call]] = {}
_operations: dict[tuple[Any, ...], tuple[Kernel, Kernel | None, Operation]] = {}


def call(kernel: Kernel, values: Sequence[Any]) -> Sequence[torch.Tensor]:
    """Call a kernel with tensors; arrays and numbers go to the tensors' device."""
    how = _how(kernel, tuple([v.dtype if isinstance(v, torch.Tensor) else type(v) for v in values]))
    if how is None:
        return call(
            kernel, [v if isinstance(v, torch.Tensor) or type(v) in WEAK else torch.as_tensor(v) for v in values]
        )
    if not how.plain:
        values = _cast(values, how)
    try:
        if torch.compiler.is_compiling():
            # An operation of the graph by its name: what was registered while this is traced isn't seen otherwise.
            found = getattr(getattr(torch.ops, NAMESPACE), how.name).default(*values)
            outputs = (found,) if how.single else found
        else:
            outputs = registered[how.name].of(*values)
    except RuntimeError:
        kernel.shapes([tuple(x.shape) for x in values])  # where shapes are what is wrong, this says it better
        raise
    if how.plain:
        return outputs
    return [y if y.dtype == dtype else y.to(dtype) for y, dtype in zip(outputs, how.outputs, strict=True)]


def fill(kernel: Kernel, values: Sequence[Any], targets: Sequence[Any]) -> None:
    """Call a kernel, and write what it gives into tensors that are there.

    Raises:
        GradientError: Where a gradient would be needed.
        ShapeError, DtypeError: Where one of these isn't as the call would give it.
    """
    for target in targets:
        if not isinstance(target, torch.Tensor) or target.layout != torch.strided:
            raise KernelError(
                f"`{kernel.name}` was called with `out`, which can't be written.",
                expected="a dense tensor of PyTorch, as the inputs are",
                got=type(target).__name__ if not isinstance(target, torch.Tensor) else str(target.layout),
                fix="pass a tensor such as `torch.empty(shape)` makes it, or leave out `out`.",
            )
    values = [v if isinstance(v, torch.Tensor) or type(v) in WEAK else torch.as_tensor(v) for v in values]
    tensors = [v if isinstance(v, torch.Tensor) else torch.as_tensor(v) for v in (*values, *targets)]
    if torch.is_grad_enabled() and any(x.requires_grad for x in tensors):
        raise GradientError(
            f"`{kernel.name}` was called with `out` where PyTorch records gradients.",
            expected="tensors without `requires_grad`, or `torch.no_grad()`",
            got="a tensor with `requires_grad`",
            fix="leave out `out`, or call it under `torch.no_grad()`.",
        )
    given = tuple([type(v) if type(v) in WEAK else x.dtype for v, x in zip(values, tensors, strict=False)])
    how = _how(kernel, given)
    assert how is not None
    shapes = [tuple(x.shape) for x in tensors[: len(values)]]
    dtypes = [str(dtype).removeprefix("torch.") for dtype in how.outputs]
    host.require_targets(kernel, dtypes, shapes, targets, [str(t.dtype).removeprefix("torch.") for t in targets])
    if how.plain and not torch.compiler.is_compiling() and all(map(_is_on_host, tensors)):
        try:
            arrays = [x.detach().numpy() for x in tensors]
        except RuntimeError:  # inside of a transform, which has no memory to write to
            arrays = []
        if arrays:
            host.fill(kernel, arrays[: len(values)], arrays[len(values) :])
            # Views of NumPy don't tell autograd that something was written.
            torch.autograd.graph.increment_version(targets)
            return
    whole = values if any(isinstance(v, torch.Tensor) for v in values) else tensors[: len(values)]
    with torch.no_grad():
        for target, y in zip(targets, call(kernel, whole), strict=True):
            target.copy_(y)


def _is_on_host(x: torch.Tensor) -> bool:
    """Whether NumPy can write to the elements."""
    plain = type(x) in (torch.Tensor, torch.nn.Parameter) and x.device.type == "cpu"
    return plain and x.is_contiguous() and not x.is_neg() and not x.is_conj()


def operation(kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    """A kernel for some loop dtypes as a differentiable function of PyTorch."""
    key = (id(kernel), id(kernel.gradient), dtypes)
    found = _operations.get(key)
    if found is None:
        with _lock:
            found = _operations.setdefault(key, (kernel, kernel.gradient, make(kernel, dtypes)))
    return found[2]


@torch.compiler.assume_constant_result
def _how(kernel: Kernel, given: tuple[Any, ...]) -> Call | None:
    """How a call with these dtypes and classes of numbers is computed; None where there is anything else."""
    key = (id(kernel), id(kernel.gradient), given)
    found = _calls.get(key)
    if found is None:
        if not all(isinstance(kind, torch.dtype) or kind in WEAK for kind in given):
            return None
        found = _calls[key] = (kernel, kernel.gradient, _planned(kernel, given))
    return found[2]


def _planned(kernel: Kernel, given: tuple[Any, ...]) -> Call:
    plan = kernel.plan([dtype if dtype in WEAK else str(dtype).removeprefix("torch.") for dtype in given])
    count = len(given)
    inputs, loop, outputs = (
        tuple([getattr(torch, name) for name in names]) for names in (plan.inputs, plan.loop, plan.outputs)
    )
    plain = given == loop[:count] and outputs == loop[count:]
    return Call(operation(kernel, plan.loop).name, inputs, loop[:count], outputs, plain, len(outputs) == 1)


def _cast(values: Sequence[Any], how: Call) -> list[torch.Tensor]:
    where = device(values)
    return [
        v.to(dtype)
        if isinstance(v, torch.Tensor)
        # A number is first what the tensors beside it are, and loses its last digits as they have.
        else torch.tensor(v, dtype=given, device=where).to(dtype)
        for v, given, dtype in zip(values, how.given, how.loop, strict=True)
    ]
