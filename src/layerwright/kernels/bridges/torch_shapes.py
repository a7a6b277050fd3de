"""Shapes of operations for PyTorch: of outputs, where sizes may be symbols of `torch.compile`, and under `vmap`."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING, Any

import torch

from layerwright.kernels.signature import Signature

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def output_shapes(kernel: Kernel, inputs: Sequence[torch.Tensor]) -> Sequence[Sequence[Any]]:
    """As `kernel.shapes`; sizes that are symbols stay symbols, and PyTorch notes what must hold of them.

    Raises:
        ShapeError: Where sizes are known and don't fit.
    """
    shapes = [tuple(x.shape) for x in inputs]
    # What is known is checked first, because the error is said better there.
    known = kernel.shapes([[None if isinstance(size, torch.SymInt) else size for size in shape] for shape in shapes])
    if not any(isinstance(size, torch.SymInt) for shape in shapes for size in shape):
        return known
    signature = kernel.signature
    sizes: dict[Any, Any] = {}
    leads = [len(shape) - len(dims) for shape, dims in zip(shapes, signature.inputs, strict=True)]
    for argument, shape, lead, dims in zip(kernel.arguments, shapes, leads, signature.inputs, strict=True):
        for dim, size in zip(dims, shape[lead:], strict=True):
            first = sizes.setdefault(dim, dim if isinstance(dim, int) else size)
            torch._check(first == size, lambda a=argument, d=dim: f"`{a}` of `{kernel.name}` doesn't fit along `{d}`.")
    batch = torch.broadcast_shapes(*(shape[:lead] for shape, lead in zip(shapes, leads, strict=True)))
    return [(*batch, *(sizes[d] if isinstance(d, str) else d for d in dims)) for dims in signature.outputs]


def batched(
    signature: Signature, inputs: Sequence[torch.Tensor], in_dims: Sequence[int | None]
) -> Iterator[torch.Tensor]:
    """Inputs whose mapped axis comes first, with as many axes after it as broadcasting needs."""
    leads = [
        x.ndim - len(dims) - (axis is not None) for x, axis, dims in zip(inputs, in_dims, signature.inputs, strict=True)
    ]
    for x, axis, lead in zip(inputs, in_dims, leads, strict=True):
        if axis is None:
            yield x
        else:
            moved = x.movedim(axis, 0)
            yield moved.reshape(moved.shape[:1] + (1,) * (max(leads) - lead) + moved.shape[1:])
