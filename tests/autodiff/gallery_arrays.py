"""Kernels that write arrays, with inputs at which they are smooth; `SPECS` is the list that tests run over."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Callable
from typing import Any

import numpy as np


@dataclasses.dataclass(frozen=True)
class Spec:
    """A kernel of the gallery.

    Attributes:
        function: It writes its last arguments.
        signature: The dimensions.
        inputs: Makes inputs of a random generator.
        outputs: The shapes of the outputs.
        dtypes: Of all arguments, where they aren't all float64.
    """

    function: Callable[..., Any]
    signature: str
    inputs: Callable[[np.random.Generator], tuple[Any, ...]]
    outputs: tuple[tuple[int, ...], ...]
    dtypes: tuple[str, ...] | str = "float64"


SPECS: dict[str, Spec] = {}


def piece(signature: str, inputs: Any, *outputs: tuple[int, ...], dtypes: Any = "float64") -> Any:
    """Enter a kernel."""

    def enter(function: Any) -> Any:
        SPECS[function.__name__] = Spec(function, signature, inputs, outputs, dtypes)
        return function

    return enter


def normal(*shapes: Any) -> Any:
    """Inputs of a normal distribution; a number for an empty shape."""
    return lambda rng: tuple(rng.normal(size=s) if s else float(rng.normal()) for s in shapes)


def positive(*shapes: Any) -> Any:
    """Inputs between 0.2 and 1.2."""
    return lambda rng: tuple(0.2 + rng.random(s) if s else float(0.2 + rng.random()) for s in shapes)


@piece("(t),()->(t)", lambda rng: (rng.normal(size=6), 0.8), (6,))
def exponential_average(x, decay, out):
    acc = x[0]
    for t in range(x.shape[0]):
        acc = decay * acc + (1.0 - decay) * x[t]
        out[t] = acc


@piece("(n)->()", normal(4), (1,))
def log_of_exponentials(x, out):
    a = 0.0
    for j in range(x.shape[0]):
        a += math.exp(x[j])
    out[0] = math.log(a)


@piece("(n)->()", normal(5), (1,))
def product(x, out):
    a = 1.0
    for j in range(x.shape[0]):
        a *= x[j]
    out[0] = a


@piece("(n)->()", normal(5), (1,))
def recurrence(x, out):
    h = 0.0
    for j in range(x.shape[0]):
        h = math.tanh(0.9 * h + x[j])
    out[0] = h


@piece("(t,d),(h),(g,d),(g,h),(g)->(t,h)", normal((4, 3), (2,), (6, 3), (6, 2), (6,)), (4, 2))
def gru(x, h0, W, U, b, out):
    T, D = x.shape
    H = h0.shape[0]
    h = np.empty(H)
    g = np.empty(3 * H)
    u = np.empty(3 * H)
    for j in range(H):
        h[j] = h0[j]
    for t in range(T):
        for k in range(3 * H):
            s = b[k]
            for d in range(D):
                s += W[k, d] * x[t, d]
            g[k] = s
            s = 0.0
            for d in range(H):
                s += U[k, d] * h[d]
            u[k] = s
        for j in range(H):
            r = 1.0 / (1.0 + math.exp(-(g[j] + u[j])))
            z = 1.0 / (1.0 + math.exp(-(g[H + j] + u[H + j])))
            n = math.tanh(g[2 * H + j] + r * u[2 * H + j])
            h[j] = (1.0 - z) * n + z * h[j]
            out[t, j] = h[j]


def sigmoid(x):
    return 1.0 / (1.0 + math.exp(-x))


@piece("(t,d),(h),(h),(g,d),(g,h)->(t,h),(h)", normal((3, 2), (2,), (2,), (8, 2), (8, 2)), (3, 2), (2,))
def lstm(x, h0, c0, W, U, out, last):
    H = h0.shape[0]
    h = h0.copy()
    c = c0.copy()
    for t in range(x.shape[0]):
        gates = W @ x[t]
        gates += U @ h
        for j in range(H):
            c[j] = sigmoid(gates[H + j]) * c[j] + sigmoid(gates[j]) * math.tanh(gates[2 * H + j])
            h[j] = sigmoid(gates[3 * H + j]) * math.tanh(c[j])
        out[t] = h
    last[:] = c


@piece("(n)->(n)", normal(7), (7,))
def cumulative_max(x, out):
    m = x[0]
    for t in range(x.shape[0]):
        if x[t] > m:
            m = x[t]
        out[t] = m


@piece("(n)->()", normal(6), (1,))
def median_by_bubble_sort(x, out):
    y = x.copy()
    n = len(y)
    for i in range(n):
        for j in range(n - 1 - i):
            if y[j] > y[j + 1]:
                y[j], y[j + 1] = y[j + 1], y[j]
    out[0] = 0.5 * (y[n // 2 - 1] + y[n // 2]) ** 2


@piece("(n),()->(n)", lambda rng: (rng.normal(size=9), 3), (9,), dtypes=("float64", "int64", "float64"))
def running_median(x, width, out):
    buf = np.empty(16)
    h = width // 2
    n = x.shape[0]
    for t in range(n):
        c = 0
        for k in range(max(0, t - h), min(n, t + h + 1)):
            v = x[k]
            j = c
            while j > 0 and buf[j - 1] > v:
                buf[j] = buf[j - 1]
                j -= 1
            buf[j] = v
            c += 1
        out[t] = buf[c // 2]


@piece("(n,m),()->()", positive((4, 5), ()), (1,))
def soft_dtw(D, gamma, out):
    n = D.shape[0]
    m = D.shape[1]
    R = np.empty((n + 1, m + 1))
    for i in range(n + 1):
        for j in range(m + 1):
            R[i, j] = 1e10
    R[0, 0] = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = R[i - 1, j - 1]
            b = R[i - 1, j]
            c = R[i, j - 1]
            mn = min(a, min(b, c))
            s = math.exp(-(a - mn) / gamma) + math.exp(-(b - mn) / gamma) + math.exp(-(c - mn) / gamma)
            R[i, j] = D[i - 1, j - 1] + mn - gamma * math.log(s)
    out[0] = R[n, m]


@piece("(n,m),()->()", normal((3, 4), ()), (1,))
def smith_waterman(S, gap, out):
    """With a soft maximum."""
    n, m = S.shape
    H = np.zeros((n + 1, m + 1))
    total = 0.0
    for i in range(1, n + 1):
        for j in range(1, m + 1):
            a = H[i - 1, j - 1] + S[i - 1, j - 1]
            b = H[i - 1, j] - abs(gap)
            c = H[i, j - 1] - abs(gap)
            top = max(0.0, a, b, c)
            H[i, j] = top + math.log(math.exp(-top) + math.exp(a - top) + math.exp(b - top) + math.exp(c - top))
            total += math.exp(H[i, j])
    out[0] = math.log(total)


@piece("(t,k),(k,k)->()", normal((4, 3), (3, 3)), (1,))
def crf_forward(scores, transitions, out):
    T, K = scores.shape
    alpha = np.empty(K)
    new = np.empty(K)
    for k in range(K):
        alpha[k] = scores[0, k]
    for t in range(1, T):
        for k in range(K):
            top = alpha[0] + transitions[0, k]
            for j in range(1, K):
                top = max(top, alpha[j] + transitions[j, k])
            s = 0.0
            for j in range(K):
                s += math.exp(alpha[j] + transitions[j, k] - top)
            new[k] = top + math.log(s) + scores[t, k]
        alpha, new = new, alpha
    top = np.max(alpha)
    s = 0.0
    for v in alpha:
        s += math.exp(v - top)
    out[0] = top + math.log(s)


@piece("(t),(),()->(t),()", lambda rng: (rng.normal(size=6), 0.3, 0.5), (6,), (1,))
def kalman(z, q, r, out, likelihood):
    x = z[0]
    p = 1.0
    total = 0.0
    for k in range(z.shape[0]):
        p += q * q
        s = p + r * r
        gain = p / s
        innovation = z[k] - x
        x += gain * innovation
        p *= 1.0 - gain
        total -= 0.5 * (innovation * innovation / s + math.log(s))
        out[k] = x
    likelihood[0] = total


@piece("(a,b),(k),(k)->(k)", lambda rng: (rng.normal(size=(6, 5)), 5 * rng.random(8), 4 * rng.random(8)), (8,))
def bilinear(img, py, px, out):
    H, W = img.shape
    for k in range(py.shape[0]):
        y = min(max(py[k], 0.0), H - 1.001)
        x = min(max(px[k], 0.0), W - 1.001)
        i = int(math.floor(y))
        j = int(math.floor(x))
        fy = y - i
        fx = x - j
        top = img[i, j] * (1.0 - fx) + img[i, j + 1] * fx
        bot = img[i + 1, j] * (1.0 - fx) + img[i + 1, j + 1] * fx
        out[k] = top * (1.0 - fy) + bot * fy


@piece("(n),(k),()->(o)", lambda rng: (rng.normal(size=9), rng.normal(size=3), 2), (4,),
       dtypes=("float64", "float64", "int64", "float64"))  # fmt: skip
def stride_convolution(x, w, stride, out):
    for o in range(out.shape[0]):
        acc = 0.0
        for k in range(w.shape[0]):
            acc += w[k] * x[o * stride + k]
        out[o] = acc


@piece("(n)->(n)", normal(5), (5,))
def softmax(x, out):
    m = x[0]
    for i in range(1, x.shape[0]):
        m = max(m, x[i])
    s = 0.0
    for i in range(x.shape[0]):
        e = math.exp(x[i] - m)
        out[i] = e
        s += e
    for i in range(x.shape[0]):
        out[i] /= s


@piece("(n)->()", normal(5), (1,))
def log_sum_exp(x, out):
    m = -np.inf
    for v in x:
        if v > m:
            m = v
    if m == -np.inf:
        out[0] = m
        return
    s = 0.0
    for i in range(x.shape[0]):
        s += math.exp(x[i] - m)
    out[0] = m + math.log(s)


@piece("(n,m)->(n,m)", normal((3, 4)), (3, 4))
def softmax_of_rows(x, out):
    for i in range(x.shape[0]):
        row = x[i]
        m = np.max(row)
        s = np.sum(np.exp(row - m))
        out[i] = np.exp(row - m) / s


@piece("(d),(),()->(t,d)", lambda rng: (rng.normal(size=2), 1.3, 0.05), (10, 2))
def lotka_volterra(state, rate, dt, out):
    a = abs(state[0]) + 1.0
    b = abs(state[1]) + 1.0
    for t in range(out.shape[0]):
        k1a = rate * a - a * b
        k1b = a * b - b
        ma = a + 0.5 * dt * k1a
        mb = b + 0.5 * dt * k1b
        a += dt * (rate * ma - ma * mb)
        b += dt * (ma * mb - mb)
        out[t, 0] = a
        out[t, 1] = b


@piece("(n),(n)->(b)", lambda rng: (rng.random(8), rng.normal(size=8)), (4,))
def weighted_histogram(x, w, out):
    """Every weight is shared among two bins."""
    bins = out.shape[0]
    for b in range(bins):
        out[b] = 0.0
    for i in range(x.shape[0]):
        place = x[i] * (bins - 1)
        left = min(int(place), bins - 2)
        share = place - left
        out[left] += w[i] * (1.0 - share)
        out[left + 1] += w[i] * share


@piece(
    "(n),(n),(k)->(k)",
    lambda rng: (np.cumsum(0.5 + rng.random(5)), rng.normal(size=5), 1.0 + 2.0 * rng.random(3)),
    (3,),
)
def cubic_spline(x, y, at, out):
    """A natural spline: a tridiagonal solve, then evaluation in the interval that a point falls into."""
    n = x.shape[0]
    h = np.empty(n)
    for i in range(n - 1):
        h[i] = x[i + 1] - x[i]
    c = np.zeros(n)
    d = np.zeros(n)
    m = np.zeros(n)
    for i in range(1, n - 1):
        rhs = 6.0 * ((y[i + 1] - y[i]) / h[i] - (y[i] - y[i - 1]) / h[i - 1])
        pivot = 2.0 * (h[i - 1] + h[i]) - h[i - 1] * c[i - 1]
        c[i] = h[i] / pivot
        d[i] = (rhs - h[i - 1] * d[i - 1]) / pivot
    for i in range(n - 2, 0, -1):
        m[i] = d[i] - c[i] * m[i + 1]
    for k in range(at.shape[0]):
        i = 0
        while i < n - 2 and at[k] > x[i + 1]:
            i += 1
        a = (x[i + 1] - at[k]) / h[i]
        b = (at[k] - x[i]) / h[i]
        out[k] = a * y[i] + b * y[i + 1] + ((a**3 - a) * m[i] + (b**3 - b) * m[i + 1]) * h[i] ** 2 / 6.0


@piece("(d,d)->()", lambda rng: (rng.normal(size=(3, 3)) + 4.0 * np.eye(3),), (1,))
def largest_eigenvalue(A, out):
    """By power iteration, until it stands still."""
    v = np.ones(3)
    w = np.empty(3)
    value = 0.0
    for _ in range(60):
        norm = 0.0
        for i in range(3):
            s = 0.0
            for j in range(3):
                s += (A[i, j] + A[j, i]) * v[j]
            w[i] = s
            norm += s * s
        norm = math.sqrt(norm)
        for i in range(3):
            v[i] = w[i] / norm
        if abs(norm - value) < 1e-3:
            break
        value = norm
    out[0] = norm


@piece("(n,n),(n)->(n)", lambda rng: (rng.normal(size=(4, 4)) + 3.0 * np.eye(4), rng.normal(size=4)), (4,))
def triangular_solve(L, b, out):
    for i in range(b.shape[0]):
        s = b[i]
        for j in range(i):
            s -= L[i, j] * out[j]
        out[i] = s / L[i, i]


@piece("(n,n)->(n,n)", lambda rng: (0.3 * rng.normal(size=(4, 4)) + 3.0 * np.eye(4),), (4, 4))
def cholesky(A, out):
    n = A.shape[0]
    out[:] = 0.0
    for i in range(n):
        for j in range(i + 1):
            s = A[i, j]
            for k in range(j):
                s -= out[i, k] * out[j, k]
            if i == j:
                out[i, j] = math.sqrt(s)
            else:
                out[i, j] = s / out[j, j]


@piece("(n,n)->()", lambda rng: (rng.normal(size=(4, 4)),), (1,))
def determinant(A, out):
    """By elimination with pivots: rows are swapped element by element."""
    n = A.shape[0]
    M = A.copy()
    det = 1.0
    for k in range(n):
        p = k
        for i in range(k + 1, n):
            if abs(M[i, k]) > abs(M[p, k]):
                p = i
        if p != k:
            for j in range(n):
                M[k, j], M[p, j] = M[p, j], M[k, j]
            det = -det
        det *= M[k, k]
        for i in range(k + 1, n):
            f = M[i, k] / M[k, k]
            for j in range(k, n):
                M[i, j] -= f * M[k, j]
    out[0] = det


@piece("(n),()->(n)", lambda rng: (rng.normal(size=6) + 0.5, 1.5), (6,))
def stops_early(x, threshold, out):
    n = x.shape[0]
    s = 0.0
    out[:] = 0.0
    for i in range(n - 1, -1, -1):
        if x[i] < 0.0:
            continue
        p = 1.0
        for j in range(i, n, 2):
            p *= x[j]
            if abs(p) > threshold:
                break
        s += p * x[i]
        out[i] = s
        if s > 3.0:
            return
        out[i] = s * s


@piece("(n),(m)->(k)", normal(5, 3), (7,))
def full_convolution(a, b, out):
    out.fill(0.0)
    for i, p in enumerate(a):
        for j, q in enumerate(b):
            out[i + j] += p * q


@piece("(h,w),(a,b)->(c,d)", normal((5, 6), (3, 2)), (3, 5))
def convolution_2d(img, kernel, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.sum(img[i : i + 3, j : j + 2] * kernel)


@piece("(h,w)->(c,d)", normal((4, 6)), (2, 3))
def max_pool(x, out):
    for i in range(out.shape[0]):
        for j in range(out.shape[1]):
            out[i, j] = np.max(x[2 * i : 2 * i + 2, 2 * j : 2 * j + 2])


@piece("(n),(n)->()", normal(6, 6), (1,))
def cosine_similarity(a, b, out):
    out[0] = np.dot(a, b) / (math.sqrt(np.dot(a, a)) * math.sqrt(np.dot(b, b)))


@piece("(n),()->(n)", lambda rng: (rng.normal(size=6), 1e-3), (6,))
def layer_norm(x, eps, out):
    mean = x.mean()
    var = 0.0
    for v in x:
        var += (v - mean) ** 2
    var /= x.size
    scale = 1.0 / math.sqrt(var + eps)
    for i in range(len(x)):
        out[i] = (x[i] - mean) * scale


@piece("(t,d),(t,d),(t,d)->(t,d)", normal((3, 2), (3, 2), (3, 2)), (3, 2))
def causal_attention(q, k, v, out):
    T, D = q.shape
    for t in range(T):
        weights = np.zeros(T)
        top = -1e30
        for s in range(t + 1):
            weights[s] = np.dot(q[t], k[s]) / math.sqrt(D)
            top = max(top, weights[s])
        total = 0.0
        for s in range(t + 1):
            weights[s] = math.exp(weights[s] - top)
            total += weights[s]
        for d in range(D):
            acc = 0.0
            for s in range(t + 1):
                acc += weights[s] / total * v[s, d]
            out[t, d] = acc


@piece("(t,d),(d)->(t,d)", positive((5, 2), (2,)), (5, 2))
def associative_scan(x, a, out):
    h = np.zeros(x.shape[1])
    for t in range(x.shape[0]):
        h[:] = a * h + x[t]
        out[t] = h


@piece("(t),(s,s),(s)->()", positive(5, (2, 2), 2), (1,))
def hidden_markov(obs, A, mean, out):
    S = mean.shape[0]
    f = np.full(S, 1.0 / S)
    ll = 0.0
    for t in range(obs.shape[0]):
        g = np.zeros(S)
        for j in range(S):
            acc = 0.0
            for i in range(S):
                acc += f[i] * A[i, j]
            g[j] = acc * math.exp(-((obs[t] - mean[j]) ** 2))
        total = g.sum()
        ll += math.log(total)
        for j in range(S):
            f[j] = g[j] / total
    out[0] = ll


@piece("(n),(),()->(n)", lambda rng: (rng.normal(size=8), 0.2, 0.1), (8,))
def heat_equation(u0, alpha, sink, out):
    u = u0.copy()
    v = np.empty_like(u0)
    n = u.shape[0]
    for step in range(5):
        for i in range(n):
            left = u[i - 1] if i > 0 else u[0]
            right = u[i + 1] if i < n - 1 else u[n - 1]
            v[i] = u[i] + alpha * (left - 2.0 * u[i] + right) - sink * u[i] * u[i] * (step % 2)
        u, v = v, u
    out[:] = u


@piece("(n,d)->()", normal((4, 3)), (1,))
def pair_energy(x, out):
    e = 0.0
    for i in range(x.shape[0]):
        for j in range(i):
            r2 = 0.0
            for k in range(x.shape[1]):
                d = x[i, k] - x[j, k]
                r2 += d * d
            e += 1.0 / (0.1 + r2) - math.exp(-math.sqrt(r2))
    out[0] = e


@piece("(n),(n)->()", normal(6, 6), (1,))
def segment_log_sum(x, w, out):
    total = 0.0
    i = 0
    n = x.shape[0]
    while i < n:
        s = 0.0
        j = i
        while j < n and j < i + 2:
            s += math.exp(w[j] * x[j])
            j += 1
        total += math.log(s)
        i = j
    out[0] = total


@piece("(n),(),()->(n)", lambda rng: (np.concatenate([[0.2], rng.normal(size=7)]), 0.3, 0.2), (8,))
def biquad(x, a, b, out):
    y1 = 0.0
    y2 = 0.0
    for t in range(x.shape[0]):
        y = x[t] - a * y1 - b * y2
        y2, y1 = y1, y
        out[t] = y


@piece("(n)->(n)", normal(6), (6,))
def in_place_prefix(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i] * x[i]
    for i in range(1, x.shape[0]):
        out[i] += out[i - 1] * 0.5


@piece("(n)->(n)", normal(8), (8,))
def fast_walsh_hadamard(x, out):
    out[:] = x
    h = 1
    n = x.shape[0]
    while h < n:
        for i in range(0, n, 2 * h):
            for j in range(i, i + h):
                a = out[j]
                b = out[j + h]
                out[j] = a + b
                out[j + h] = (a - b) * 0.5
        h *= 2
    for i in range(n):
        out[i] = math.tanh(out[i])


@piece("(d),(d),(e),(e)->(),()", normal(2, 2, 2, 2), (1,), (1,))
def segments_closest(p, q, r, s, near, far):
    best = 1e30
    worst = 0.0
    for i in range(5):
        u = i / 4
        for j in range(5):
            v = j / 4
            d = 0.0
            for k in range(2):
                diff = p[k] + u * (q[k] - p[k]) - r[k] - v * (s[k] - r[k])
                d += diff * diff
            if d < best:
                best = d
            worst = max(worst, d)
    near[0] = best
    far[0] = math.sqrt(worst)


@piece(
    "(n),(m)->(k)",
    lambda rng: (rng.normal(size=5), np.array([3, 0, 3, 1])),
    (4,),
    dtypes=("float64", "int64", "float64"),
)
def gather(table, index, out):
    for i in range(index.shape[0]):
        out[i] = table[index[i]] ** 2


@piece(
    "(n),(m)->(k)",
    lambda rng: (rng.normal(size=4), np.array([2, 0, 2, 1])),
    (3,),
    dtypes=("float64", "int64", "float64"),
)
def scatter_product(x, index, out):
    out[:] = 1.0
    for v, k in zip(x, index):
        out[k] *= v


@piece("(t)->(t)", normal(6), (6,))
def lif_neuron(current, out):
    """A leaky neuron with a smooth spike and a reset."""
    v = 0.0
    for t in range(current.shape[0]):
        v = 0.9 * v + current[t]
        spike = 1.0 / (1.0 + math.exp(-5.0 * (v - 1.0)))
        v -= spike
        out[t] = spike


@piece("(n)->()", positive(5), (1,))
def arithmetic_geometric(x, out):
    total = 0.0
    for v in x:
        a = 1.0
        g = v
        while abs(a - g) > 1e-12:
            a, g = 0.5 * (a + g), math.sqrt(a * g)
        total += a
    out[0] = total


@piece("(n),(k,m)->(m)", normal(2, (2, 3)), (3,))
def matrix_vector(x, W, out):
    out[:] = np.tanh(x @ W)


@piece("(t),()->()", lambda rng: (rng.normal(size=8), 0.3), (1,))
def drawdown(r, cost, out):
    wealth = 1.0
    peak = 1.0
    worst = 0.0
    for v in r:
        wealth *= math.exp(0.1 * v - 0.01 * cost)
        peak = max(peak, wealth)
        worst = max(worst, 1.0 - wealth / peak)
    out[0] = worst


@piece("(n),()->(n)", lambda rng: (rng.normal(size=6), 2.5), (6,))
def reads_from_the_end(x, s, out):
    n = x.shape[0]
    tail = x[n - 3 :]
    back = x[::-1]
    for i in range(n):
        out[i] = back[i] * x[-1] + s * (tail[i % 3] if i % 2 == 0 else tail[-1])


@piece("(n,m)->(m)", normal((4, 3)), (3,))
def columns(x, out):
    for j in range(x.shape[1]):
        column = x[:, j]
        low = column[0]
        for v in column[1:]:
            low = min(low, v)
        out[j] = low * np.prod(column[1:3])


@piece("(n)->(n)", normal(5), (5,))
def helper_that_writes(x, out):
    work = x.copy()
    for _ in range(2):
        smooth(work, 0.3)
    out[:] = work


def smooth(y, amount):
    n = y.shape[0]
    old = y.copy()
    for i in range(n):
        y[i] = old[i] * (1.0 - amount) + amount * math.sin(old[(i + 1) % n])


@piece("(t),(k)->(t)", normal(6, 2), (6,))
def autoregressive(e, phi, out):
    for t in range(e.shape[0]):
        out[t] = e[t]
        for k in range(min(t, phi.shape[0])):
            out[t] += 0.3 * phi[k] * out[t - 1 - k]


@piece("(n),(n)->()", positive(4, 4), (1,))
def sinkhorn(a, b, out):
    n = a.shape[0]
    u = np.ones(n)
    v = np.ones(n)
    for _ in range(6):
        for i in range(n):
            s = 0.0
            for j in range(n):
                s += math.exp(-abs(i - j) / n) * v[j]
            u[i] = a[i] / s
        for j in range(n):
            s = 0.0
            for i in range(n):
                s += math.exp(-abs(i - j) / n) * u[i]
            v[j] = b[j] / s
    cost = 0.0
    for i in range(n):
        for j in range(n):
            cost += u[i] * v[j] * math.exp(-abs(i - j) / n) * abs(i - j)
    out[0] = cost


@piece("(n),()->()", lambda rng: (rng.normal(size=12), 0.5), (1,))
def nested_breaks(x, limit, out):
    total = 0.0
    for i in range(4):
        part = 0.0
        for j in range(3):
            v = x[3 * i + j]
            if v < -limit:
                continue
            part += v * v
            if part > 2.0:
                break
        else_part = part * 0.5
        if total + else_part > 4.0:
            out[0] = total * part
            return
        total += else_part * x[i]
    out[0] = total
