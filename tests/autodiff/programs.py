"""Random loops in the accepted grammar, aimed at what makes tapes lean, and what must hold for each."""

from __future__ import annotations

import linecache
import math
import random
from typing import Any

import numpy as np

from layerwright.autodiff import derive
from layerwright.errors import DifferentiationError

SIGNATURE = "(n),(n,m),(),()->(n),(m)"
N, M = 5, 3


def helper(p, q):
    """Loops, branches, `continue` and `break`, called inside of expressions."""
    r = p
    for _ in range(3):
        if r > q:
            r = math.tanh(r - q * 0.5)
            continue
        r = r * 0.7 + math.sin(q)
        if r < -1.0:
            break
    return r


def early(p, q):
    """Returns from inside of a loop."""
    for k in range(3):
        if p > q + 0.1 * k:
            return p * q
        p = p * 1.3 + 0.1
    return math.cos(p) + q


def put(target, i, value):
    """Writes into its argument."""
    target[i] = target[i] * 0.5 + math.sin(value)


def rolled(target, factor):
    """Makes an array of its own."""
    size = target.shape[0]
    own = np.zeros(size)
    for k in range(size):
        own[k] = target[k] * factor
    for k in range(1, size):
        target[k] = math.tanh(own[k - 1] + own[k])


class General:
    """Writes a program: scalars and elements overwritten and traded, loops of every kind, views, scratch arrays."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)
        self.statements = 0
        self.scalars, self.integers = ["s0", "s1", "s2", "s3", "a", "b"], ["k0", "k1"]
        self.loops: list[str] = []
        self.count = 0
        self.views: list[str] = []

    def fresh(self, letter: str) -> str:
        self.count += 1
        return f"{letter}{self.count}"

    def index(self, size: str = "n") -> str:
        r, c = self.r, self.r.random()
        if self.loops and c < 0.6:
            shift = r.choice([0, 0, 0, 1, -1, 2])
            v = r.choice(self.loops)
            return f"({v} + {shift}) % {size}" if shift else f"{v} % {size}"
        if c < 0.85:
            return f"{r.choice(self.integers)} % {size}"
        return str(r.choice([0, 1, 2, -1, -2]))

    def element(self) -> str:
        c = self.r.random()
        if self.views and c < 0.2:
            return f"{self.r.choice(self.views)}[{self.index('m')}]"
        if c < 0.34:
            return f"x[{self.index()}]"
        if c < 0.37:
            return f"x[order[{self.index()}]]"
        if c < 0.4:
            return f"c[{self.index()}]"
        if c < 0.55:
            return f"w[{self.index()}, {self.index('m')}]" if c < 0.5 else f"w[{self.index()}][{self.index('m')}]"
        if c < 0.7:
            return f"u[{self.index()}]"
        if c < 0.8:
            return f"v[{self.index()}]"
        if c < 0.9:
            return f"z[{self.index()}, {self.index('m')}]"
        return f"out[{self.index()}]"

    def expression(self, depth: int = 2) -> str:
        r, c = self.r, self.r.random()
        if depth == 0 or c < 0.15:
            c = r.random()
            if c < 0.5:
                return r.choice(self.scalars)
            if c < 0.85:
                return self.element()
            if c < 0.93 and self.loops:
                return f"{r.choice(self.loops)} * 0.1"
            return f"{r.uniform(-1, 1):.3f}"

        def e() -> str:
            return self.expression(depth - 1)

        if c < 0.42:
            return f"({e()} {r.choice('+-*')} {e()})"
        if c < 0.49:
            return f"({e()} / (1.5 + {r.choice(['abs', 'math.fabs', 'np.abs'])}({e()})))"
        if c < 0.6:
            return f"{r.choice(['math.sin', 'math.tanh', 'np.cos', 'math.atan', 'np.tanh', 'math.erf'])}({e()})"
        if c < 0.65:
            return f"math.exp(-abs({e()}))"
        if c < 0.69:
            return f"math.sqrt(1.0 + {e()} ** {r.choice([2, 2.0, 4])})"
        if c < 0.76:
            return f"{r.choice(['max', 'min', 'np.maximum'])}({e()}, {e()})"
        if c < 0.84:
            return f"({e()} if {self.test()} else {e()})"
        if c < 0.9:
            return f"{r.choice(['helper', 'early'])}({e()}, {e()})"
        if c < 0.93:
            return f"np.where({self.test()}, {e()}, {e()})"
        if c < 0.95:
            return f"np.dot({r.choice(['x', 'u', 'v'])}, x) * 0.1" if r.random() < 0.5 else "np.sum(z[1]) * 0.2"
        if c < 0.97:
            return f"(-{e()})"
        return f"math.log(2.0 + abs({e()}))"

    def test(self) -> str:
        r, c = self.r, self.r.random()
        if c < 0.5:
            return f"{self.expression(1)} > {self.expression(1)}"
        if c < 0.7:
            return f"{r.choice(self.integers + self.loops)} % 2 == {r.randrange(2)}"
        if c < 0.85:
            return f"{self.expression(0)} < {r.uniform(-0.5, 0.5):.2f} and {r.choice(self.integers + self.loops)} < 3"
        return f"not {self.expression(0)} > 0.2"

    def block(self, depth: int, indent: str, inside: bool, count: int | None = None) -> list[str]:
        lines, known = [], len(self.views)
        for _ in range(count or self.r.randint(1, 4)):
            lines += self.statement(depth, indent, inside)
        self.views = self.views[:known]
        return lines

    def statement(self, depth: int, indent: str, inside: bool) -> list[str]:
        r, c = self.r, self.r.random()
        self.statements += 1
        if self.statements > 24:
            c *= 0.5
        if c < 0.2:
            return [f"{indent}{r.choice(self.scalars)} = math.tanh({self.expression()})"]
        if c < 0.25:
            return [f"{indent}{r.choice(self.scalars[:4])} = {self.expression(1)} * 0.5"]
        if c < 0.33:
            operator = r.choice(["+=", "-=", "*="])
            return [f"{indent}{r.choice(self.scalars[:4])} {operator} math.sin({self.expression()})"]
        if c < 0.45:
            places = [f"u[{self.index()}]", f"v[{self.index()}]", f"out[{self.index()}]", f"last[{self.index('m')}]"]
            places += [f"z[{self.index()}, {self.index('m')}]"] + [
                f"{v}[{self.index('m')}]" for v in self.views if v[0] != "w"
            ]
            return [
                f"{indent}{r.choice(places)} {r.choice(['=', '=', '+=', '-=', '*='])} math.tanh({self.expression()})"
            ]
        if c < 0.48:
            one, other = r.sample(self.scalars[:4], 2)
            return [f"{indent}{one}, {other} = {other}, {one} * 0.9 + {self.expression(1)} * 0.1"]
        if c < 0.52:
            values = [f"int(abs({self.expression(0)}) * 3.0)", f"{r.choice(self.integers)} + 1", "3", *self.loops[-1:]]
            return [f"{indent}{r.choice(self.integers)} = {r.choice(values)}"]
        if c < 0.53:
            return [f"{indent}u, v = v, u"]
        if c < 0.535:
            return [f"{indent}order[{self.index()}] = {r.choice(self.integers)} % n"]
        if c < 0.54:
            at = self.index()
            return [f"{indent}c[{at}] = c[{at}] * 0.5 + 0.3"]
        if c < 0.56:
            return [f"{indent}put({r.choice(['u', 'v', 'out', 'z[1]'])}, {self.index('m')}, {self.expression(1)})"]
        if c < 0.575:
            return [f"{indent}rolled({r.choice(['u', 'v', 'out'])}, {self.expression(1)})"]
        if c < 0.59:
            return [
                indent + r.choice(["u[:] = 0.3 * b", "z[1] = w[0]", "v[:] = x", "z[:, 1] *= 0.5", "u[1:] += s1 * 0.1"])
            ]
        if c < 0.615 and depth > 0 and inside:
            name = self.fresh("row")
            self.views.append(name)
            at = (self.loops or ["1"])[-1]
            part = r.choice([f"z[{at} % n]", f"z[k0 % n]", "z[:, 1]", f"z[2, :]", "z[1:, 1]"])  # noqa: F541
            return [f"{indent}{name} = {part}"]
        if c < 0.64 and inside and depth > 0:
            name = self.fresh("t")
            self.views.append(name)
            return [f"{indent}{name} = {r.choice(['np.zeros(m)', 'np.ones(m)', 'np.zeros_like(w[0])', 'w[1].copy()'])}"]
        if depth <= 0:
            return [f"{indent}s0 = math.sin({self.expression()})"]
        if c < 0.78:
            return self.branch(depth, indent, inside)
        if c < 0.9:
            return self.loop(depth, indent)
        if c < 0.94:
            variable = self.fresh("q")
            test = self.test()
            body = self.block(depth - 1, indent + "    ", True)
            head = [f"{indent}{variable} = 0", f"{indent}while {variable} < {r.randint(2, 4)} and {test}:"]
            return [*head, f"{indent}    {variable} += 1", *body]
        if inside and c < 0.985:
            return [
                f"{indent}if {self.test()}:",
                f"{indent}    {r.choice(['break', 'continue', 'break', 'continue', 'return'])}",
            ]
        return [f"{indent}if {self.expression(0)} > 1.5:", f"{indent}    return"]

    def branch(self, depth: int, indent: str, inside: bool) -> list[str]:
        lines = [f"{indent}if {self.test()}:", *self.block(depth - 1, indent + "    ", inside)]
        if self.r.random() < 0.3:
            lines += [f"{indent}elif {self.test()}:", *self.block(depth - 1, indent + "    ", inside)]
        if self.r.random() < 0.5:
            lines += [f"{indent}else:", *self.block(depth - 1, indent + "    ", inside)]
        return lines

    def loop(self, depth: int, indent: str) -> list[str]:
        r, variable = self.r, self.fresh("i")
        k = r.choice(self.integers)
        runs = ["n", "1, n", "n - 1, -1, -1", "0, n, 2", f"{k} % 4", "3", f"{k} % 3, 5", "n - 1, 0, -2"]
        runs += [f"{self.loops[-1]}", f"{self.loops[-1]}, n", f"{self.loops[-1]} + 1"] if self.loops else []
        c = r.random()
        self.loops.append(variable)
        if c < 0.1:
            item = self.fresh("e")
            head = f"for {variable}, {item} in enumerate({r.choice('xuv')}):"
            self.scalars.append(item)
            body = self.block(depth - 1, indent + "    ", True)
            self.scalars.remove(item)
        elif c < 0.16:
            one, other = self.fresh("e"), self.fresh("e")
            head = f"for {one}, {other} in zip(x, {r.choice('uv')}):"
            self.loops.pop()
            self.scalars += [one, other]
            body = self.block(depth - 1, indent + "    ", True)
            self.scalars = self.scalars[:-2]
            return [indent + head, *body]
        else:
            head = f"for {variable} in range({r.choice(runs)}):"
            body = self.block(depth - 1, indent + "    ", True)
            if r.random() < 0.2:
                body.append(f"{indent}    {variable} += 1")
        self.loops.pop()
        return [indent + head, *body]

    def text(self) -> str:
        """The program."""
        head = """
            n, m = w.shape
            s0 = 0.3
            s1 = a
            s2 = x[0]
            s3 = b * 0.5
            k0 = 1
            k1 = 2
            u = np.zeros(n)
            v = np.full(n, 0.25)
            z = np.zeros((n, m))
            order = np.zeros(n, np.int64)
            c = np.ones(n)
            for i0 in range(m):
                last[i0] = x[i0]
            for i0 in range(n):
                out[i0] = 0.1
                u[i0] = x[i0] * 0.5
        """
        lines = [line[8:] for line in head.splitlines() if line.strip()]
        lines += self.block(3, "    ", False, self.r.randint(3, 6))
        lines += ["    for i0 in range(n):", "        out[i0] += u[i0] * 0.3 + v[i0] * s0 + z[i0, 0] * s1 + s2 * s3"]
        return "\n".join(["def loop(x, w, a, b, out, last):", *lines]) + "\n"


class Tables:
    """Writes a program that fills tables in one order or another: what may go untaped is decided by dependences."""

    def __init__(self, seed: int) -> None:
        self.r = random.Random(seed)

    def shifted(self, variable: str, least: int = 0) -> str:
        shift = self.r.choice([0, 0, 1, -1, -1, 2, -2] if not least else [1, -1])
        return f"{variable} + {shift}" if shift > 0 else f"{variable} - {-shift}" if shift else variable

    def read(self, variables: list[str]) -> str:
        r, c = self.r, self.r.random()
        if c < 0.45:
            return f"A[{self.shifted(variables[0])}, {self.shifted(variables[1])}]"
        if c < 0.6:
            return f"A[{self.shifted(variables[0])}, {r.choice(['0', '1', 'm - 1'])}]"
        if c < 0.75:
            return f"B[{self.shifted(variables[r.random() < 0.3])}]"
        if c < 0.85:
            return f"w[{variables[0]} % n, {variables[1]} % w.shape[1]]"
        return (
            f"out[{self.shifted(variables[0])}]" if c < 0.9 else r.choice(["s", "a", f"x[{variables[0]}]", "last[2]"])
        )

    def value(self, variables: list[str], known: list[str]) -> str:
        r = self.r
        parts = [
            r.choice(known) if known and r.random() < 0.5 else self.read(variables) for _ in range(r.randint(1, 3))
        ]
        product = " * ".join(parts)
        shapes = [
            "math.tanh({p})",
            "math.sin({p} + {q})",
            "0.5 * {p} + {q} * 0.3",
            "math.exp(-abs({p}))",
            "min({f}, {q})",
        ]
        return r.choice(shapes).format(p=product, q=self.read(variables), f=parts[0])

    def text(self) -> str:
        """The program."""
        r = self.r
        lines = ["m = w.shape[1] + 4", "n = x.shape[0]", "A = np.empty((n + 4, m))", "B = np.empty(n + m)", "s = a * b"]
        lines += ["for i in range(n + 4):", "    for j in range(m):", "        A[i, j] = 0.1 * x[i % n] + 0.05 * j"]
        lines += ["for i in range(n + m):", "    B[i] = x[i % n]"]
        lines += ["for i in range(n):", "    out[i] = 0.1 * x[i]", "for j in range(w.shape[1]):"]
        lines += [r.choice(["    last[j] = b", "    last[j] = b * x[j] + (last[j - 1] * a if j > 0 else 0.0)"])]
        for q in range(r.randint(1, 3)):
            lines += self.nest(q)
        lines += [
            "for i in range(n):",
            "    for j in range(m):",
            "        out[i] += A[i, j] * (i + 0.3 * j) + B[i] * s",
        ]
        return "\n".join(["def loop(x, w, a, b, out, last):", *("    " + line for line in lines)]) + "\n"

    def nest(self, q: int) -> list[str]:
        r, indent, lines = self.r, "", []
        if r.random() < 0.25:
            lines, indent = [f"for t{q} in range(2):"], "    "
        variables = [f"i{q}", f"j{q}"]
        outer = r.choice(["2, n - 2", "n - 3, 1, -1", "2, n - 2, 2", "n - 2", "2, n"])
        inner = ["2, m - 2", "m - 3, 1, -1", "2, m - 2, 2", "m - 2", f"i{q}, m - 2", f"2, i{q} + 1"]
        order = [0, 1] if r.random() < 0.75 else [1, 0]
        runs = [outer, r.choice(inner if order == [0, 1] else inner[:4])]
        for k in order:
            lines.append(f"{indent}for {variables[k]} in range({runs[k]}):")
            indent += "    "
        known: list[str] = []
        for k in range(r.randint(1, 4)):
            c = r.random()
            if c < 0.4:
                lines.append(f"{indent}l{q}_{k} = {self.value(variables, known)}")
                known.append(f"l{q}_{k}")
            elif c < 0.75:
                place = [self.shifted(v, 1) if r.random() < 0.3 else v for v in variables]
                lines.append(f"{indent}A[{place[0]}, {place[1]}] = {self.value(variables, known)}")
            elif c < 0.83:
                lines.append(f"{indent}B[{r.choice(variables)}] = {self.value(variables, known)}")
            elif c < 0.9:
                lines.append(f"{indent}out[{variables[0]}] {r.choice(['=', '+='])} {self.value(variables, known)}")
            elif c < 0.95:
                lines.append(f"{indent}s = math.tanh(s + {self.value(variables, known)})")
            else:
                lines.append(f"{indent}if {self.read(variables)} > {self.read(variables)}:")
                lines.append(f"{indent}    A[{variables[0]}, {variables[1]}] = {self.value(variables, known)}")
        return lines


def function_of(text: str, name: str) -> Any:
    """The function of a program's text."""
    file = f"<program {name}>"
    linecache.cache[file] = (len(text), None, text.splitlines(keepends=True), file)
    namespace = {"np": np, "math": math, "helper": helper, "early": early, "put": put, "rolled": rolled}
    exec(compile(text, file, "exec"), namespace)
    return namespace["loop"]


class WrongError(AssertionError):
    """A derivative is wrong."""


class Trial:
    """A program at one point, in random directions.

    Args:
        text: The program.
        seed: Chooses the point.
        run: Makes a derived function callable; compiles it, for one.
        passes: Which optimisations the gradient has, for tests of each.
    """

    def __init__(self, text: str, seed: int, run: Any = lambda f: f, **options: Any) -> None:
        self.text, self.run = text, run
        self.function = function_of(text, str(seed))
        self.derivative = derive(self.function, SIGNATURE, **options)
        rng = np.random.default_rng(seed)
        self.inputs = [rng.normal(size=N), rng.normal(size=(N, M)), float(rng.normal()), float(rng.normal())]
        self.direction = [rng.normal(size=N), rng.normal(size=(N, M)), float(rng.normal()), float(rng.normal())]
        self.other = [rng.normal(size=N), rng.normal(size=(N, M)), float(rng.normal()), float(rng.normal())]
        self.cotangents = [rng.normal(size=N), rng.normal(size=M)]
        for array in (*self.inputs[:2], *self.direction[:2], *self.cotangents):
            array.flags.writeable = False

    def values(self, h: float = 0.0) -> np.ndarray:
        """The outputs at a point, or beside it."""
        outputs = [np.full(N, np.nan), np.full(M, np.nan)]
        moved = [x + h * t if h else x for x, t in zip(self.inputs, self.direction, strict=True)]
        self.function(*moved, *outputs)
        return np.concatenate(outputs)

    def pushed(self, direction: list[Any]) -> tuple[np.ndarray, np.ndarray]:
        """The outputs and their tangents."""
        outputs = [np.full(N, np.nan), np.full(M, np.nan), np.full(N, np.nan), np.full(M, np.nan)]
        self.run(self.derivative.tangent.function)(*self.inputs, *direction, *outputs)
        return np.concatenate(outputs[:2]), np.concatenate(outputs[2:])

    def pulled(self) -> list[np.ndarray]:
        """The gradients, written over NaN."""
        outputs = [np.full(N, np.nan), np.full(M, np.nan)]
        self.function(*self.inputs, *outputs)
        for out in outputs:
            out.flags.writeable = False
        gradients = [np.full(N, np.nan), np.full((N, M), np.nan), np.full(1, np.nan), np.full(1, np.nan)]
        self.run(self.derivative.function)(*self.inputs, *outputs, *self.cotangents, *gradients)
        return gradients

    def check(self) -> str:
        """`right`, `kink` where differences can't tell, or `skipped` where the values themselves are of no use."""
        try:
            values = self.values()
        except IndexError:
            return "skipped"
        if not np.isfinite(values).all() or np.abs(values).max() > 1e6:
            return "skipped"
        again, tangent = self.pushed(self.direction)
        if not np.allclose(values, again, rtol=1e-9, atol=1e-12):
            raise WrongError(f"values of the tangent function: {values}, {again}")
        ct = np.concatenate(self.cotangents)
        forward, size = float(ct @ tangent), float(np.abs(ct * tangent).sum()) + 1e-9
        backward = inner(self.pulled(), self.direction)
        if not abs(forward - backward) <= 1e-8 * size:
            raise WrongError(f"gradient: {backward}, tangent: {forward}")
        return self.differences(tangent)

    def differences(self, tangent: np.ndarray) -> str:
        """Central differences beside the tangent."""
        for h in (1e-6, 1e-5, 1e-7, 1e-4):
            slope = (self.values(h) - self.values(-h)) / (2 * h)
            if np.allclose(slope, tangent, rtol=1e-4, atol=1e-5):
                return "right"
        sides = [(self.values(h) - self.values()) / h for h in (1e-6, -1e-6)]
        if not np.allclose(*sides, rtol=1e-3, atol=1e-3):
            return "kink"
        raise WrongError(f"tangent: {tangent}, by differences: {slope}")

    def check_second(self) -> None:
        """The second derivatives must be symmetric: `<u, H v> = <v, H u>`."""
        found = []
        for one, other in ((self.direction, self.other), (self.other, self.direction)):
            outputs = [np.full(N, np.nan), np.full(M, np.nan)]
            self.function(*self.inputs, *outputs)
            gradients = [np.empty(N), np.empty((N, M)), np.empty(1), np.empty(1)]
            given = [np.atleast_1d(np.array(v)) for v in one]
            back = [np.full(s, np.nan) for s in (N, (N, M), 1, 1, N, M, N, M)]
            self.run(self.derivative.second.function)(
                *self.inputs, *outputs, *self.cotangents, *gradients, *given, *back
            )
            found.append(inner(back[:4], other))
            sizes = sum(float(np.abs(b * np.asarray(o)).sum()) for b, o in zip(back[:4], other, strict=True))
        if not abs(found[0] - found[1]) <= 1e-7 * (sizes + 1e-9):
            raise WrongError(f"second derivatives: {found}")


def inner(a: list[Any], b: list[Any]) -> float:
    """The inner product of two lists of arrays."""
    return float(sum(np.sum(np.asarray(x) * np.asarray(y)) for x, y in zip(a, b, strict=True)))


def trial(seed: int, second: bool = True, **options: Any) -> str:
    """One random program: a verdict, or the reason why it was refused.

    Raises:
        WrongError: Where a derivative is wrong.
    """
    text = (Tables if seed % 3 == 2 else General)(seed).text()
    try:
        with np.errstate(all="ignore"):
            try:
                one = Trial(text, seed, **options)
            except DifferentiationError as error:
                return f"refused: {error.message}"
            verdict = one.check()
            if second and verdict != "skipped":
                one.check_second()
    except WrongError as error:
        raise WrongError(f"program {seed}: {error}\n{text}") from error
    return verdict
