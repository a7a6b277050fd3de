"""Elementwise kernels: functions of numbers, with points where they are smooth."""

from __future__ import annotations

import math

import numpy as np

SCALE = 1.5
TABLE = (0.1, 0.4, 0.9)


def polynomial(p, x):
    return 0.5 * x**3 - p * x**2 + 2.0 * x / (1.0 + p * p)


def branchy(p, x):
    if x > 0.5:
        y = math.tanh(p * x)
    elif x < -0.5:
        y = math.exp(x) - p
    else:
        y = np.sin(x) * p
    return y if y > 0.1 else 0.3 * y + max(x, p)


def newton(p, x):
    """The root of z**3 + (p**2 + 1) z = x."""
    z = x
    n = 0
    while True:
        f = z * z * z + (p * p + 1.0) * z - x
        df = 3.0 * z * z + p * p + 1.0
        dz = f / df
        z -= dz
        n += 1
        if abs(dz) < 1e-13:
            break
        if n > 60:
            return z
    return z


def squared(a):
    return a * a


def mandelbrot(p, x):
    zr = 0.0
    zi = 0.0
    k = 0
    for _ in range(50):
        r2 = squared(zr) + squared(zi)
        if r2 > 256.0:
            break
        zr, zi = squared(zr) - squared(zi) + p, 2.0 * zr * zi + x
        k += 1
    if k == 50:
        return 0.0
    return k + 1 - math.log(math.log(math.sqrt(r2))) / math.log(2.0)


def horner(x, a, b, c):
    y = a
    for coefficient in range(3):
        y = y * x + (b if coefficient == 1 else c)
    return y


def huber(d, x):
    r = abs(x)
    return 0.5 * x * x if r <= abs(d) else abs(d) * (r - 0.5 * abs(d))


def smoothstep(low, high, x):
    t = min(max((x - low) / (high - low), 0.0), 1.0)
    return t * t * (3.0 - 2.0 * t)


def gelu(x):
    return 0.5 * x * (1.0 + math.erf(x / math.sqrt(2.0)))


def swish(beta, x):
    return x / (1.0 + math.exp(-beta * x))


def polar(x, y):
    return math.hypot(x, y), math.atan2(y, x)


def kepler(e, m):
    """The eccentric anomaly, by a fixed number of steps."""
    eccentricity = 0.5 * math.tanh(e) ** 2
    a = m
    for _ in range(12):
        a -= (a - eccentricity * math.sin(a) - m) / (1.0 - eccentricity * math.cos(a))
    return a


def continued_fraction(a, x):
    y = 0.0
    for k in range(8, 0, -1):
        y = x * x / (k + a * a + y)
    return y


def collatz_like(x, p):
    """`continue`, `break`, and a trip count that depends on the data."""
    total = 0.0
    y = x
    for k in range(30):
        if k % 3 == 1:
            y = y * p + 0.1
            continue
        if y > 2.0:
            y = math.sqrt(y)
            total += y
        else:
            y = y * y + 0.5
        if total > 10.0:
            break
    return total + y


def integer_beside(n, x):
    y = 0.0
    for k in range(n):
        y += x**k / (k + 1)
    return y


def three_values(x, y):
    a = x * y
    b = a + math.sin(x)
    return a, b * b, a / (1.0 + b * b)


def from_around(x):
    total = 0.0
    for k in range(len(TABLE)):
        total += TABLE[k] * x**k
    return SCALE * total


def bessel(x):
    """J0 by its series, until a term is small."""
    term = 1.0
    total = 1.0
    k = 1
    while abs(term) > 1e-17 and k < 60:
        term *= -x * x / (4.0 * k * k)
        total += term
        k += 1
    return total


def bisection(p, x):
    """The steps are decided by comparisons: the result has no derivative, save by the last correction."""
    low = -3.0
    high = 3.0
    for _ in range(20):
        middle = 0.5 * (low + high)
        if middle**3 + middle + p < x:
            low = middle
        else:
            high = middle
    z = 0.5 * (low + high)
    z -= (z**3 + z + p - x) / (3.0 * z * z + 1.0)
    z -= (z**3 + z + p - x) / (3.0 * z * z + 1.0)
    return z


def early_out(x, limit):
    if x < 0.0:
        return x * 0.1
    for k in range(5):
        if x > limit + k:
            return x * k + limit
        x = x * 1.5 + 0.1
    return x * limit


def shadowed(x, p):
    """Arguments that are overwritten."""
    x = x * p
    p = p + x
    x += p * x
    return x / (1.0 + p * p)


# Each with the dtypes of its arguments.
NUMBERS = {
    polynomial: "ff", branchy: "ff", newton: "ff", mandelbrot: "ff", horner: "ffff", huber: "ff", smoothstep: "fff",
    gelu: "f", swish: "ff", polar: "ff", kepler: "ff", continued_fraction: "ff", collatz_like: "ff",
    integer_beside: "if", three_values: "ff", from_around: "f", bessel: "f", bisection: "ff", early_out: "ff",
    shadowed: "ff",
}  # fmt: skip
