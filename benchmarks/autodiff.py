"""What a derived gradient costs beside an adjoint by hand: both compiled by Numba, forward and reverse together.

    python benchmarks/autodiff.py [--repeat 8]

Both are measured in turns, in one process and one thread, for float32 and float64; figures are the fastest of all
rounds, in milliseconds. The moving average has 1000 steps, soft-DTW 100 by 100 cells, the GRU 50 steps of 16 inputs
and 32 units.
"""

from __future__ import annotations

import argparse
import math
import time
from collections.abc import Callable
from typing import Any

import numba
import numpy as np

from layerwright.autodiff import derive
from layerwright.kernels.types_of import compiled, types_of

jit = numba.njit(error_model="numpy", nogil=True)


def average(x, decay, out):
    acc = x[0]
    for t in range(x.shape[0]):
        acc = decay * acc + (1.0 - decay) * x[t]
        out[t] = acc


@jit
def average_by_hand(x, decay, out, d_out, d_x, d_decay):
    n = x.shape[0]
    acc = np.empty(n, x.dtype)
    a = x[0]
    for t in range(n):
        acc[t] = a
        a = decay * a + (1.0 - decay) * x[t]
    d = 0.0
    total = 0.0
    for k in range(n):
        t = n - 1 - k
        d += d_out[t]
        total += d * (acc[t] - x[t])
        d_x[t] = d * (1.0 - decay)
        d = d * decay
    d_x[0] += d
    d_decay[0] = total


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


@jit
def soft_dtw_by_hand(D, gamma, out, d_out, d_D, d_gamma):
    n = D.shape[0]
    m = D.shape[1]
    R = np.empty((n + 1, m + 1))
    E = np.empty((n, m, 4))
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
            e1 = math.exp(-(a - mn) / gamma)
            e2 = math.exp(-(b - mn) / gamma)
            e3 = math.exp(-(c - mn) / gamma)
            s = e1 + e2 + e3
            E[i - 1, j - 1, 0] = e1 / s
            E[i - 1, j - 1, 1] = e2 / s
            E[i - 1, j - 1, 2] = e3 / s
            E[i - 1, j - 1, 3] = math.log(s)
            R[i, j] = D[i - 1, j - 1] + mn - gamma * E[i - 1, j - 1, 3]
    G = np.zeros((n + 1, m + 1))
    G[n, m] = d_out[0]
    total = 0.0
    for ki in range(n):
        i = n - ki
        for kj in range(m):
            j = m - kj
            g = G[i, j]
            a = R[i - 1, j - 1]
            b = R[i - 1, j]
            c = R[i, j - 1]
            mn = min(a, min(b, c))
            p = E[i - 1, j - 1, 0]
            q = E[i - 1, j - 1, 1]
            r = E[i - 1, j - 1, 2]
            G[i - 1, j - 1] += g * p
            G[i - 1, j] += g * q
            G[i, j - 1] += g * r
            total -= g * (E[i - 1, j - 1, 3] + (p * (a - mn) + q * (b - mn) + r * (c - mn)) / gamma)
            d_D[i - 1, j - 1] = g
    d_gamma[0] = total


def gru(x, h0, W, U, b, out):
    T = x.shape[0]
    D = x.shape[1]
    H = h0.shape[0]
    h = np.empty(H, x.dtype)
    g = np.empty(3 * H, x.dtype)
    u = np.empty(3 * H, x.dtype)
    for j in range(H):
        h[j] = h0[j]
    for t in range(T):
        for k in range(3 * H):
            s = b[k]
            for d in range(D):
                s += W[k, d] * x[t, d]
            g[k] = s
            s = np.float32(0.0)
            for d in range(H):
                s += U[k, d] * h[d]
            u[k] = s
        for j in range(H):
            r = 1.0 / (1.0 + math.exp(-(g[j] + u[j])))
            z = 1.0 / (1.0 + math.exp(-(g[H + j] + u[H + j])))
            n = math.tanh(g[2 * H + j] + r * u[2 * H + j])
            h[j] = (1.0 - z) * n + z * h[j]
            out[t, j] = h[j]


@jit
def gru_by_hand(x, h0, W, U, b, out, d_out, d_x, d_h0, d_W, d_U, d_b):
    T = x.shape[0]
    D = x.shape[1]
    H = h0.shape[0]
    h = h0.copy()
    g = np.empty(3 * H, x.dtype)
    u = np.empty(3 * H, x.dtype)
    kept = np.empty((5, T, H), x.dtype)
    for t in range(T):
        for k in range(3 * H):
            s = b[k]
            for d in range(D):
                s += W[k, d] * x[t, d]
            g[k] = s
            s = np.float32(0.0)
            for d in range(H):
                s += U[k, d] * h[d]
            u[k] = s
        for j in range(H):
            kept[0, t, j] = h[j]
            r = 1.0 / (1.0 + math.exp(-(g[j] + u[j])))
            z = 1.0 / (1.0 + math.exp(-(g[H + j] + u[H + j])))
            n = math.tanh(g[2 * H + j] + r * u[2 * H + j])
            h[j] = (1.0 - z) * n + z * h[j]
            kept[1, t, j] = r
            kept[2, t, j] = z
            kept[3, t, j] = n
            kept[4, t, j] = u[2 * H + j]
    d_x[:] = 0.0
    d_W[:] = 0.0
    d_U[:] = 0.0
    d_b[:] = 0.0
    dh = np.zeros(H, x.dtype)
    dg = np.empty(3 * H, x.dtype)
    du = np.empty(3 * H, x.dtype)
    for kt in range(T):
        t = T - 1 - kt
        for j in range(H):
            c = dh[j] + d_out[t, j]
            r = kept[1, t, j]
            z = kept[2, t, j]
            n = kept[3, t, j]
            dn = c * (1.0 - z) * (1.0 - n * n)
            dz = c * (kept[0, t, j] - n) * z * (1.0 - z)
            dr = dn * kept[4, t, j] * r * (1.0 - r)
            dh[j] = c * z
            dg[j] = dr
            dg[H + j] = dz
            dg[2 * H + j] = dn
            du[j] = dr
            du[H + j] = dz
            du[2 * H + j] = dn * r
        for k in range(3 * H):
            c = du[k]
            for d in range(H):
                dh[d] += c * U[k, d]
                d_U[k, d] += c * kept[0, t, d]
            c = dg[k]
            d_b[k] += c
            for d in range(D):
                d_W[k, d] += c * x[t, d]
                d_x[t, d] += c * W[k, d]
    d_h0[:] = dh


def fastest(calls: dict[str, Callable[[], Any]], repeat: int, seconds: float = 0.05) -> dict[str, float]:
    """The fastest of many runs of each call, in milliseconds, measured in turns."""
    found = dict.fromkeys(calls, math.inf)
    for call in calls.values():
        call()
    for _ in range(repeat):
        for name, call in calls.items():
            end = time.perf_counter() + seconds
            while time.perf_counter() < end:
                begin = time.perf_counter()
                call()
                found[name] = min(found[name], 1e3 * (time.perf_counter() - begin))
    return found


def compare(function: Any, by_hand: Any, signature: str, inputs: list[Any], shape: Any, dtype: str, repeat: int) -> str:
    """A line of the table."""
    given = [np.asarray(x, dtype) if np.ndim(x) else np.dtype(dtype).type(x) for x in inputs]
    out, d_out = np.zeros(shape, dtype), np.ones(shape, dtype)
    begin = time.perf_counter()
    derivative = derive(function, signature, dtypes=dtype, oracle=types_of)
    derived, middle = compiled(derivative.function), time.perf_counter()
    first, second = ([np.zeros(np.shape(x) or (1,), dtype) for x in given] for _ in range(2))
    derived(*given, out, d_out, *first)
    end = time.perf_counter()
    by_hand(*given, out, d_out, *second)
    error = max(np.abs(a - b).max() / np.abs(b).max() for a, b in zip(first, second, strict=True))
    forward = jit(function)
    times = fastest(
        {
            "forward": lambda: forward(*given, out),
            "by hand": lambda: by_hand(*given, out, d_out, *second),
            "derived": lambda: derived(*given, out, d_out, *first),
        },
        repeat,
    )
    figures = " ".join(f"{name} {value:.4f}" for name, value in times.items())
    ratio = times["derived"] / times["by hand"]
    made = f"derived in {middle - begin:.2f} s, compiled in {end - middle:.2f} s"
    return f"{function.__name__:9} {dtype} {figures} ms, ratio {ratio:.2f}, error {error:.0e}, {made}"


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=8)
    repeat = parser.parse_args().repeat
    rng = np.random.default_rng(0)
    weights = [0.3 * rng.normal(size=(96, 16)), 0.3 * rng.normal(size=(96, 32)), rng.normal(size=96)]
    rows = [
        (average, average_by_hand, "(t),()->(t)", [rng.normal(size=1000), 0.9], 1000),
        (soft_dtw, soft_dtw_by_hand, "(n,m),()->()", [rng.random((100, 100)), 0.7], 1),
        (gru, gru_by_hand, "(t,d),(h),(g,d),(g,h),(g)->(t,h)",
         [rng.normal(size=(50, 16)), rng.normal(size=32), *weights], (50, 32)),
    ]  # fmt: skip
    for dtype in ("float32", "float64"):
        for row in rows:
            print(compare(*row, dtype, repeat), flush=True)


if __name__ == "__main__":
    main()
