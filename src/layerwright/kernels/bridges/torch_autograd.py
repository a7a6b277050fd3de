"""The derivative of an operation: `backward`, `torch.func`, and an error for forward mode, which would give zeros.

It is a kernel of the dispatcher for the key `Autograd`, as PyTorch's own are: every way of calling the operation meets
it. What that takes is private, and is used in this file only. Where it isn't there, `register_autograd` stands in, and
`Public` for what `torch.func` needs.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import torch
from torch.autograd import forward_ad

from layerwright.errors import GradientError
from layerwright.kernels.dtypes import is_floating

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

try:
    from torch._C import _after_autograd_keyset as after
    from torch._C import _any_requires_grad as any_requires_grad
    from torch._C import _are_functorch_transforms_active as transformed
    from torch._C import _AutoDispatchBelowAutograd as below
    from torch._C import _is_tracing as traced
    from torch._functorch.utils import enable_single_level_autograd_function as one_level
    from torch.autograd.forward_ad import _set_fwd_grad_enabled as forward_enabled
    from torch.autograd.function import _SingleLevelFunction

    known = hasattr(forward_ad, "_current_level")
except ImportError:
    known = False


class Rule:
    """The gradient of a kernel by another kernel.

    Args:
        kernel: The kernel.
        dtypes: Its loop dtypes.
    """

    def __init__(self, kernel: Kernel, dtypes: tuple[str, ...]) -> None:
        self.kernel, self.loop, self.kept = kernel, dtypes, kernel.has_gradient
        self.count, self.floating = len(kernel.arguments), tuple(map(is_floating, dtypes))
        self.dtypes, self.single = kernel.gradient_dtypes(dtypes), len(dtypes) == self.count + 1

    def keep(self, ctx: Any, inputs: Sequence[torch.Tensor], output: Any) -> None:
        """Save what the gradient needs."""
        if not self.kept:
            return
        if self.single:
            ctx.save_for_backward(*inputs, output)
        else:
            ctx.save_for_backward(*inputs, *output)

    def gradients(self, ctx: Any, cotangents: Sequence[Any], needed: Sequence[bool]) -> tuple[Any, ...]:
        """The gradients of the inputs, summed over the axes along which these were broadcast."""
        from layerwright.kernels.bridges.torch import operation

        gradient = self.kernel.derivative(self.loop)
        saved = ctx.saved_tensors  # once: checkpointing unpacks them only once
        inputs, outputs = saved[: self.count], saved[self.count :]
        given = [
            dy if floating else torch.zeros_like(y, dtype=torch.float32)
            for y, dy, floating in zip(outputs, cotangents, self.floating[self.count :], strict=True)
        ]
        whole = operation(gradient, self.dtypes)(*inputs, *outputs, *given)
        return tuple(
            [
                (g if g.shape == x.shape else g.sum_to_size(x.shape)) if wanted and floating else None
                for g, x, wanted, floating in zip(whole, inputs, needed, self.floating, strict=False)
            ]
        )

    def no_tangent(self) -> GradientError:
        """The error for forward mode."""
        return GradientError(
            f"`{self.kernel.name}` has no forward-mode derivative.",
            expected="reverse mode: `backward`, `torch.func.grad`, `vjp`, `jacrev`",
            got="forward mode: `jvp`, `jacfwd`, `hessian`",
            fix="use `jacrev` in the place of `jacfwd`, and `jacrev(jacrev(...))` in that of `hessian`.",
            where=self.kernel.place,
        )


def function_of(rule: Rule) -> Any:
    """The node of the graph; its first argument is what computes the outputs."""

    def forward(ctx: Any, compute: Callable[..., Any], *inputs: torch.Tensor) -> Any:
        outputs = compute(*inputs)
        rule.keep(ctx, inputs, outputs)
        return outputs

    def backward(ctx: Any, *cotangents: Any) -> Any:
        return (None, *rule.gradients(ctx, cotangents, ctx.needs_input_grad[1:]))

    def jvp(_ctx: Any, *_tangents: Any) -> Any:
        raise rule.no_tangent()

    parts = {"forward": staticmethod(forward), "backward": staticmethod(backward), "jvp": staticmethod(jvp)}
    return type(rule.kernel.name, (_SingleLevelFunction,), parts)


def public_function_of(run: Callable[..., Any], rule: Rule, batched: Callable[..., Any]) -> Any:
    """The same without anything private; slower."""

    class Public(torch.autograd.Function):
        @staticmethod
        def forward(*inputs: torch.Tensor) -> Any:
            return run(*inputs)

        @staticmethod
        def setup_context(ctx: Any, inputs: Any, output: Any) -> None:
            rule.keep(ctx, inputs, output)

        @staticmethod
        def backward(ctx: Any, *cotangents: Any) -> Any:
            return rule.gradients(ctx, cotangents, ctx.needs_input_grad)

        @staticmethod
        def jvp(_ctx: Any, *_tangents: Any) -> Any:
            raise rule.no_tangent()

        @staticmethod
        def vmap(_info: Any, in_dims: Any, *inputs: Any) -> Any:
            outputs = Public.apply(*batched(inputs, in_dims))
            return outputs, 0 if isinstance(outputs, torch.Tensor) else (0,) * len(outputs)

    return Public


def kernel_of(run: Any, function: Any) -> Callable[..., Any]:
    """What the dispatcher calls for the key `Autograd`."""

    def kernel(keys: Any, *inputs: torch.Tensor) -> Any:
        rest = keys & after
        if transformed():
            recording = torch.is_grad_enabled()

            def compute(*inputs: torch.Tensor) -> Any:
                # The node has switched recording off; transforms around this one may need it.
                with torch.set_grad_enabled(recording), forward_enabled(True), below():
                    return run.redispatch(rest, *inputs)

            with one_level():
                return function.apply(compute, *inputs)

        def plain(*inputs: torch.Tensor) -> Any:
            with below():
                return run.redispatch(rest, *inputs)

        return function.apply(plain, *inputs) if recorded(inputs) else plain(*inputs)

    return kernel


def eager_of(run: Any, function: Any) -> Callable[..., Any]:
    """Calls an operation, and does before what its kernel for `Autograd` would do: the dispatcher needn't enter Python.

    Only where nothing is compiled.
    """
    apply = function.apply

    def plain(*inputs: torch.Tensor) -> Any:
        with below():
            return run(*inputs)

    def eager(*inputs: torch.Tensor) -> Any:
        if transformed() or traced():
            return run(*inputs)
        return apply(plain, *inputs) if recorded(inputs) else plain(*inputs)

    return eager


def recorded(inputs: Sequence[torch.Tensor]) -> bool:
    """Whether autograd must know of a call."""
    return forward_ad._current_level >= 0 or (torch.is_grad_enabled() and any_requires_grad(*inputs))
