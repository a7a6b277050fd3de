"""The gallery beside PyTorch: its own formulas, and its checks of first and second derivatives."""

from __future__ import annotations

import numpy as np
import pytest
from autodiff.gallery_arrays import SPECS

from layerwright.autodiff import derive

torch = pytest.importorskip("torch")
pytestmark = pytest.mark.once


def operation(spec):
    """The kernel as an operation of PyTorch, twice differentiable, by derived functions alone."""
    derivative = derive(spec.function, spec.signature, dtypes=spec.dtypes)

    def arrays(tensors):
        return [t.detach().numpy() for t in tensors]

    def numbers(tensors):
        return [x if x.ndim else x.item() for x in arrays(tensors)]

    def boxes(tensors):
        return [np.atleast_1d(x) for x in arrays(tensors)]

    class Operation(torch.autograd.Function):
        @staticmethod
        def forward(ctx, *inputs):
            outputs = [np.full(shape, np.nan) for shape in spec.outputs]
            spec.function(*numbers(inputs), *outputs)
            outputs = [torch.from_numpy(out) for out in outputs]
            ctx.save_for_backward(*inputs, *outputs)
            ctx.count = len(inputs)
            return tuple(outputs)

        @staticmethod
        def backward(ctx, *cotangents):
            return Gradient.apply(ctx.count, *ctx.saved_tensors, *cotangents)

    class Gradient(torch.autograd.Function):
        @staticmethod
        def forward(ctx, count, *given):
            inputs = given[:count]
            found = [np.full(x.shape or (1,), np.nan) for x in inputs]
            derivative.function(*numbers(inputs), *boxes(given[count:]), *found)
            ctx.save_for_backward(*given)
            ctx.count = count
            return tuple(torch.from_numpy(g).reshape(x.shape) for g, x in zip(found, inputs, strict=True))

        @staticmethod
        def backward(ctx, *v):
            given = ctx.saved_tensors
            inputs = given[: ctx.count]
            first = [np.empty(x.shape or (1,)) for x in inputs]
            found = [np.full(x.shape or (1,), np.nan) for x in given]
            numbers_, rest = numbers(inputs), boxes(given[ctx.count :])
            derivative.second.function(*numbers_, *rest, *first, *boxes([x.contiguous() for x in v]), *found)
            return None, *(torch.from_numpy(g).reshape(x.shape) for g, x in zip(found, given, strict=True))

    return Operation.apply


def tensors(spec, seed=0):
    given = spec.inputs(np.random.default_rng(seed))
    return [torch.tensor(x, dtype=torch.float64, requires_grad=True) for x in given]


@pytest.mark.parametrize(
    "name", ["exponential_average", "soft_dtw", "triangular_solve", "lstm", "kalman", "heat_equation", "biquad"]
)
def test_pytorchs_own_checks_of_both_orders(name):
    spec = SPECS[name]
    apply, given = operation(spec), tensors(spec)
    assert torch.autograd.gradcheck(apply, given)
    assert torch.autograd.gradgradcheck(apply, given)


def ema(x, decay):
    acc, found = x[0], []
    for t in range(x.shape[0]):
        acc = decay * acc + (1 - decay) * x[t]
        found.append(acc)
    return torch.stack(found)


def attention(q, k, v):
    scores = (q @ k.T / np.sqrt(q.shape[1])).masked_fill(torch.triu(torch.ones(3, 3), 1).bool(), -torch.inf)
    return torch.softmax(scores, 1) @ v


def norm(x, eps):
    centred = x - x.mean()
    return centred / torch.sqrt((centred**2).mean() + eps)


FORMULAS = {
    "exponential_average": ema,
    "log_of_exponentials": lambda x: torch.logsumexp(x, 0)[None],
    "product": lambda x: torch.prod(x)[None],
    "softmax": lambda x: torch.softmax(x, 0),
    "softmax_of_rows": lambda x: torch.softmax(x, 1),
    "causal_attention": attention,
    "cholesky": lambda a: torch.linalg.cholesky(torch.tril(a) + torch.tril(a, -1).T),
    "determinant": lambda a: torch.linalg.det(a)[None],
    "triangular_solve": lambda a, b: torch.linalg.solve_triangular(torch.tril(a), b[:, None], upper=False)[:, 0],
    "cumulative_max": lambda x: torch.cummax(x, 0).values,
    "layer_norm": norm,
    "matrix_vector": lambda x, w: torch.tanh(x @ w),
    "max_pool": lambda x: torch.nn.functional.max_pool2d(x[None, None], 2)[0, 0],
}


@pytest.mark.parametrize("name", FORMULAS)
def test_values_gradients_and_gradient_penalties_are_pytorchs(name):
    spec = SPECS[name]
    given = tensors(spec, seed=3)
    rng = np.random.default_rng(4)
    weights = torch.from_numpy(rng.normal(size=spec.outputs[0]))
    found = []
    for function in (lambda *x: operation(spec)(*x)[0], FORMULAS[name]):
        y = function(*given)
        gradients = torch.autograd.grad((weights * y**3).sum(), given, create_graph=True)
        penalty = sum((g**2).sum() for g in gradients)
        found.append([y, *gradients, *torch.autograd.grad(penalty, given)])
    for a, b in zip(*found, strict=True):
        np.testing.assert_allclose(a.detach().numpy(), b.detach().numpy(), rtol=1e-8, atol=1e-10)
