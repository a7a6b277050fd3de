"""Small kernels of every kind, each with what NumPy makes of it: a kernel that is added here is tested everywhere."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np

import layerwright as lw
from layerwright.kernels import Kernel


@dataclasses.dataclass(frozen=True)
class Piece:
    """A kernel of the gallery.

    Attributes:
        kernel: The kernel.
        inputs: Makes arguments from a random generator, without a batch.
        reference: The same with NumPy, for any leading axes.
        smooth: Whether its gradient may be compared with differences there.
    """

    kernel: Kernel
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    reference: Callable[..., Any]
    smooth: bool = True


@lw.kernel
def power(p, x):
    """p times x squared."""
    return p * x**2


@power.backward
def power_gradient(p, x, y, dy):
    return dy * x**2, dy * 2.0 * p * x


@power_gradient.backward
def _(p, x, y, dy, dp, dx, d_dp, d_dx):
    return (
        d_dx * dy * 2.0 * x,
        d_dp * dy * 2.0 * x + d_dx * dy * 2.0 * p,
        0.0,
        d_dp * x**2 + d_dx * 2.0 * p * x,
    )


@lw.kernel
def polar(x, y):
    return math.sqrt(x * x + y * y), math.atan2(y, x)


@polar.backward
def _(x, y, r, angle, d_r, d_angle):
    return d_r * x / r - d_angle * y / r**2, d_r * y / r + d_angle * x / r**2


@lw.kernel
def leaky(x, slope):
    if x > 0:
        return x
    return slope * x


@leaky.backward
def _(x, slope, y, dy):
    return (dy if x > 0 else slope * dy), (0.0 if x > 0 else x * dy)


@lw.kernel
def chosen(which, a, b):
    """An integer beside floats: it has no gradient."""
    return a if which > 0 else b


@chosen.backward
def _(which, a, b, y, dy):
    return 0.0, (dy if which > 0 else 0.0), (0.0 if which > 0 else dy)


@lw.kernel
def inside(x, low, high):
    return low <= x and x < high


@lw.kernel("(t),()->(t)")
def ema(x, decay, out):
    state = 0.0
    for i in range(x.shape[0]):
        state = decay * state + (1.0 - decay) * x[i]
        out[i] = state


@ema.backward
def _(x, decay, out, d_out, d_x, d_decay):
    carry = 0.0
    total = 0.0
    for i in range(x.shape[0] - 1, -1, -1):
        carry += d_out[i]
        before = out[i - 1] if i > 0 else 0.0
        d_x[i] = (1.0 - decay) * carry
        total += carry * (before - x[i])
        carry *= decay
    d_decay[0] = total


@lw.kernel("(n)->()")
def logsumexp(x, out):
    top = x.max()
    total = 0.0
    for i in range(x.shape[0]):
        total += math.exp(x[i] - top)
    out[0] = top + math.log(total)


@logsumexp.backward
def _(x, out, d_out, d_x):
    for i in range(x.shape[0]):
        d_x[i] = d_out[0] * math.exp(x[i] - out[0])


@lw.kernel("(m,n),(n)->(m)")
def matvec(a, x, out):
    for i in range(a.shape[0]):
        total = 0.0
        for j in range(a.shape[1]):
            total += a[i, j] * x[j]
        out[i] = total


@matvec.backward
def _(a, x, out, d_out, d_a, d_x):
    d_x[:] = 0.0
    for i in range(a.shape[0]):
        for j in range(a.shape[1]):
            d_a[i, j] = d_out[i] * x[j]
            d_x[j] += d_out[i] * a[i, j]


@lw.kernel("(3),(3)->(3)")
def cross(a, b, out):
    out[0] = a[1] * b[2] - a[2] * b[1]
    out[1] = a[2] * b[0] - a[0] * b[2]
    out[2] = a[0] * b[1] - a[1] * b[0]


@cross.backward
def _(a, b, out, d_out, d_a, d_b):
    d_a[0] = b[1] * d_out[2] - b[2] * d_out[1]
    d_a[1] = b[2] * d_out[0] - b[0] * d_out[2]
    d_a[2] = b[0] * d_out[1] - b[1] * d_out[0]
    d_b[0] = d_out[1] * a[2] - d_out[2] * a[1]
    d_b[1] = d_out[2] * a[0] - d_out[0] * a[2]
    d_b[2] = d_out[0] * a[1] - d_out[1] * a[0]


@lw.kernel("(n)->(n),()", outputs=("int32", "int32"))
def ranks(x, out, ties):
    """The rank of each element, and how many pairs are equal."""
    ties[0] = 0
    for i in range(x.shape[0]):
        out[i] = 0
        for j in range(x.shape[0]):
            if x[j] < x[i]:
                out[i] += 1
            if j < i and x[j] == x[i]:
                ties[0] += 1


@lw.kernel("(n),(n)->(),(n)")
def dot_and_sum(x, y, dot, total):
    dot[0] = 0.0
    for i in range(x.shape[0]):
        dot[0] += x[i] * y[i]
        total[i] = x[i] + y[i]


@dot_and_sum.backward
def _(x, y, dot, total, d_dot, d_total, d_x, d_y):
    for i in range(x.shape[0]):
        d_x[i] = d_dot[0] * y[i] + d_total[i]
        d_y[i] = d_dot[0] * x[i] + d_total[i]


def _ema(x, decay):
    out, state = np.empty(np.broadcast_shapes(x.shape, (*np.shape(decay), 1))), 0.0
    for i in range(x.shape[-1]):
        state = decay * state + (1.0 - decay) * x[..., i]
        out[..., i] = state
    return out


def _ranks(x):
    below = x[..., None, :] < x[..., :, None]
    equal = np.tril(x[..., None, :] == x[..., :, None], -1)
    return below.sum(-1), equal.sum((-1, -2))


GALLERY = {
    piece.kernel.name: piece
    for piece in (
        Piece(power, lambda rng: (rng.normal(), rng.normal()), lambda p, x: p * x**2),
        Piece(
            polar, lambda rng: (1.0 + rng.random(), 1.0 + rng.random()), lambda x, y: (np.hypot(x, y), np.arctan2(y, x))
        ),
        Piece(leaky, lambda rng: (rng.normal(), 0.1), lambda x, slope: np.where(x > 0, x, slope * x)),
        Piece(
            chosen,
            lambda rng: (rng.integers(0, 2, dtype="int32"), rng.normal(), rng.normal()),
            lambda which, a, b: np.where(which > 0, a, b),
        ),
        Piece(
            inside,
            lambda rng: (rng.normal(), -0.5, 0.5),
            lambda x, low, high: (low <= x) & (x < high),
            smooth=False,
        ),
        Piece(ema, lambda rng: (rng.normal(size=7), 0.9), _ema),
        Piece(logsumexp, lambda rng: (rng.normal(size=5),), lambda x: np.log(np.exp(x).sum(-1))),
        Piece(
            matvec,
            lambda rng: (rng.normal(size=(2, 3)), rng.normal(size=3)),
            lambda a, x: np.einsum("...mn,...n->...m", a, x),
        ),
        Piece(cross, lambda rng: (rng.normal(size=3), rng.normal(size=3)), np.cross),
        Piece(ranks, lambda rng: (rng.integers(0, 4, 5).astype("float32"),), _ranks, smooth=False),
        Piece(
            dot_and_sum,
            lambda rng: (rng.normal(size=4), rng.normal(size=4)),
            lambda x, y: ((x * y).sum(-1), x + y),
        ),
    )
}
