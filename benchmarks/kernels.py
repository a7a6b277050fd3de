"""What a kernel costs inside of a compiled function of each framework, beside the bare machine code and the callbacks.

    python benchmarks/kernels.py [--backend jax,torch] [--repeat 31] [--write]

Each backend runs in a process of its own. What is compared is measured in turns, in one process; figures are medians
of microseconds, and ratios are those of the medians. `--write` puts the tables into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import json
import os
import platform
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- kernels: begin -->", "<!-- kernels: end -->"
SHORT, LONG = 100, 300  # ops in a chain; the difference is free of what one call of a compiled function costs
IN_PLACE = 10  # ops in a chain, for TensorFlow
Timed = dict[str, float]


def alternated(calls: dict[Any, Callable[[], Any]], repeat: int, seconds: float = 0.02) -> Any:
    """The median time of each call, in microseconds; a round measures every call once, one after the other."""
    counts = {}
    for name, call in calls.items():
        call()
        begin = time.perf_counter()
        call()
        counts[name] = max(1, int(seconds / max(time.perf_counter() - begin, 1e-7)))
    times: dict[Any, list[float]] = {name: [] for name in calls}
    for _ in range(repeat):
        for name, call in calls.items():
            begin = time.perf_counter()
            for _ in range(counts[name]):
                call()
            times[name].append((time.perf_counter() - begin) / counts[name] * 1e6)
    return {name: statistics.median(values) for name, values in times.items()}


# ------------------------------------------------------------------------------------------------ kernels
def kernels() -> Any:
    """The kernels that are measured, and the same as bare functions of Numba."""
    import numba

    import layerwright as lw

    class Made:
        pass

    made = Made()

    @lw.kernel
    def power(p, x):
        return p * x**2

    @power.backward
    def _(p, x, y, dy):  # noqa: ARG001 - the form of a backward function
        return dy * x**2, dy * 2.0 * p * x

    @numba.njit(error_model="numpy", nogil=True)
    def bare_power(p, x, out):
        for i in range(x.shape[0]):
            out[i] = p * x[i] ** 2

    def average(x, decay, out):
        one = decay - decay + 1
        state = decay - decay
        for i in range(x.shape[0]):
            state = decay * state + (one - decay) * x[i]
            out[i] = state

    def average_backward(x, decay, out, d_out, d_x, d_decay):
        one = decay - decay + 1
        carry = decay - decay
        total = decay - decay
        for i in range(x.shape[0] - 1, -1, -1):
            carry += d_out[i]
            d_x[i] = (one - decay) * carry
            before = out[i - 1] if i > 0 else decay - decay
            total += carry * (before - x[i])
            carry *= decay
        d_decay[0] = total

    @lw.kernel(aliases="x")
    def power_in_place(p, x):
        return p * x**2

    made.power, made.bare_power, made.power_in_place = power, bare_power, power_in_place
    made.ema, made.parallel = lw.kernel("(t),()->(t)")(average), lw.kernel("(t),()->(t)", parallel=True)(average)
    made.ema.backward(average_backward)
    return made


# --------------------------------------------------------------------------------------------- frameworks
def of_jax(_given: Any) -> dict[str, Any]:
    """How JAX runs things."""
    import jax
    import jax.numpy as jnp
    import numpy as np

    def callback(p, x):
        like = jax.ShapeDtypeStruct(x.shape, x.dtype)
        return jax.pure_callback(lambda p, x: np.asarray(p * np.asarray(x) ** 2), like, p, x)

    def scan(x, decay):
        def step(state, value):
            state = decay * state + (1.0 - decay) * value
            return state, state

        return jax.lax.scan(step, jnp.zeros(x.shape[0], x.dtype), x.T)[1].T

    def ready(function):
        compiled = jax.jit(function)
        return lambda *x: jax.block_until_ready(compiled(*x))

    def in_place(kernel, p, x):
        step, state = jax.jit(kernel, donate_argnums=1), [x]

        def once():
            state[0] = jax.block_until_ready(step(p, state[0]))

        return once, 1

    return {
        "tensor": jnp.asarray,
        "compiled": ready,
        "gradient": lambda f: ready(jax.grad(lambda *x: jnp.sum(f(*x)), (0, 1))),
        "callback": callback,
        "callback name": "pure_callback",
        "own": lambda p, x: p * x**2,
        "in place": in_place,
        "scan": scan,
        "scan name": "lax.scan, jit",
    }


def of_tensorflow(_given: Any) -> dict[str, Any]:
    """How TensorFlow runs things."""
    import tensorflow as tf

    def callback(p, x):
        y = tf.numpy_function(lambda p, x: p * x**2, [p, x], tf.float32, stateful=False)
        y.set_shape(x.shape)
        return y

    def scan(x, decay):
        steps = tf.scan(lambda s, v: decay * s + (1.0 - decay) * v, tf.transpose(x), tf.zeros(x.shape[0]))
        return tf.transpose(steps)

    def in_place(kernel, p, x):
        @tf.function
        def chain(p, x):
            for _ in range(IN_PLACE):
                x = kernel(p, x)
            return x

        return lambda: chain(p, x), IN_PLACE

    def gradient(f, **options):
        def both(*x):
            with tf.GradientTape() as tape:
                tape.watch(x)
                y = tf.reduce_sum(f(*x))
            return tape.gradient(y, x)

        return tf.function(both, **options)

    return {
        "tensor": tf.constant,
        "compiled": tf.function,
        "gradient": gradient,
        "callback": callback,
        "callback name": "numpy_function",
        "own": lambda p, x: p * x**2,
        "in place": in_place,
        "scan": scan,
        "scan name": "tf.scan, XLA",
        "scan compiled": lambda f: tf.function(f, jit_compile=True),
        "scan gradient": lambda f: gradient(f, jit_compile=True),
    }


def of_torch(given: Any) -> dict[str, Any]:
    """How PyTorch runs things; eagerly, since its compiler needs a C++ compiler."""
    import numpy as np
    import torch

    @torch.library.custom_op("benchmark::power", mutates_args=(), schema="(Tensor p, Tensor x) -> Tensor")
    def callback(p, x):
        out = np.empty(x.shape, "float32")
        given.bare_power(np.float32(p.item()), x.numpy(), out)
        return torch.from_numpy(out)

    callback.register_fake(lambda _, x: torch.empty_like(x))

    def scan(x, decay):
        state, steps = torch.zeros(x.shape[0]), []
        for value in x.unbind(1):
            state = decay * state + (1.0 - decay) * value
            steps.append(state)
        return torch.stack(steps, 1)

    def gradient(f):
        def both(*x):
            leaves = [v.detach().requires_grad_() for v in x]
            return torch.autograd.grad(f(*leaves).sum(), leaves)

        return both

    return {
        "tensor": torch.tensor,
        "compiled": lambda f: f,
        "gradient": gradient,
        "callback": callback,
        "callback name": "custom_op",
        "own": lambda p, x: p * x**2,
        "in place": lambda kernel, p, x: (partial(kernel, p, x, out=torch.empty_like(x)), 1),
        "scan": scan,
        "scan name": "a Python loop",
    }


# ------------------------------------------------------------------------------------------- measurements
def overhead(tools: dict[str, Any], given: Any, repeat: int) -> list[dict[str, Any]]:
    """One op more in a chain in one compiled function."""
    return [{"n": n, **_overhead(tools, given, repeat, n)} for n in (1, 1000, 100_000)]


def _overhead(tools: dict[str, Any], given: Any, repeat: int, n: int) -> Timed:
    import numpy as np

    x, out, p = np.ones(n, "float32"), np.ones(n, "float32"), np.float32(1.0)
    tensors = tools["tensor"](p), tools["tensor"](x)

    def chain(f: Any, length: int) -> Callable[[], Any]:
        def all_of_them(first: Any, second: Any) -> Any:
            for _ in range(length):
                second = f(first, second)
            return second

        compiled = tools["compiled"](all_of_them)
        return lambda: compiled(*tensors)

    def bare() -> None:
        for _ in range(SHORT):
            given.bare_power(p, x, out)

    ways = {"kernel": given.power, "callback": tools["callback"], "own": tools["own"]}
    calls = {(name, length): chain(f, length) for name, f in ways.items() for length in (SHORT, LONG)}
    found = alternated({("bare", SHORT): bare, **calls}, repeat)
    more = {name: (found[name, LONG] - found[name, SHORT]) / (LONG - SHORT) for name in ways}
    return {"bare": found["bare", SHORT] / SHORT, **more}


def large(tools: dict[str, Any], given: Any, repeat: int) -> Timed:
    """One op on ten million elements: mostly page faults of a fresh output."""
    import numpy as np

    x, out, p = np.ones(10_000_000, "float32"), np.ones(10_000_000, "float32"), np.float32(1.0)
    tensors, compiled = (tools["tensor"](p), tools["tensor"](x)), tools["compiled"](given.power)
    own = tools["compiled"](tools["own"])
    in_place, ops = tools["in place"](given.power_in_place, *map(tools["tensor"], (p, x)))
    calls = {
        "in place": in_place,
        "bare, output there": lambda: given.bare_power(p, x, out),
        "bare, output allocated": lambda: given.bare_power(p, x, np.empty_like(x)),
        "kernel": lambda: compiled(*tensors),
        "own": lambda: own(*tensors),
    }
    found = alternated(calls, max(5, repeat // 2), seconds=0.1)
    return {**found, "in place": found["in place"] / ops}


def average(tools: dict[str, Any], given: Any, repeat: int) -> dict[str, Timed]:
    """An exponential moving average over [64, 1000], alone and with its gradient."""
    import numpy as np

    x = tools["tensor"](np.random.default_rng(0).normal(size=(64, 1000)).astype("float32"))
    decay = tools["tensor"](np.float32(0.9))
    forward = {
        "kernel": tools["compiled"](given.ema),
        "scan": tools.get("scan compiled", tools["compiled"])(tools["scan"]),
    }
    both = {
        "kernel": tools["gradient"](given.ema),
        "scan": tools.get("scan gradient", tools["gradient"])(tools["scan"]),
    }
    return {
        what: alternated({name: lambda f=f: f(x, decay) for name, f in calls.items()}, repeat)
        for what, calls in (("forward", forward), ("forward and gradient", both))
    }


def threads(tools: dict[str, Any], given: Any, repeat: int) -> Timed:
    """The same over [64, 20000], on one thread and on all."""
    import numpy as np

    x = tools["tensor"](np.random.default_rng(0).normal(size=(64, 20_000)).astype("float32"))
    decay = tools["tensor"](np.float32(0.9))
    calls = {"one thread": tools["compiled"](given.ema), "all threads": tools["compiled"](given.parallel)}
    return alternated({name: lambda f=f: f(x, decay) for name, f in calls.items()}, repeat)


def measure(repeat: int) -> dict[str, Any]:
    """Everything, on the backend of this process."""
    import keras

    name, given = keras.backend.backend(), kernels()
    tools = {"jax": of_jax, "tensorflow": of_tensorflow, "torch": of_torch}[name](given)
    return {
        "backend": name,
        "names": {key: tools[f"{key} name"] for key in ("callback", "scan")},
        "overhead": overhead(tools, given, repeat),
        "large": large(tools, given, repeat),
        "average": average(tools, given, repeat),
        "threads": threads(tools, given, repeat),
    }


FIRST = """
import json, os, sys, time
import keras, numba, numpy as np
import layerwright as lw
x = keras.ops.convert_to_tensor(np.ones((4, 8), "float32"))
@lw.kernel("(t)->(t)")
def other(x, out):
    for i in range(x.shape[0]):
        out[i] = x[i]
other(x)  # what is paid once a process: the shared machine code is loaded
def total(x, out):
    state = 0.0
    for i in range(x.shape[0]):
        state += x[i]
        out[i] = state
kernel = lw.kernel("(t)->(t)", cache=True)(total)
arrays = (numba.types.Array(numba.float32, 1, "C", readonly=True), numba.types.Array(numba.float32, 1, "C"))
begin = time.perf_counter()
if sys.argv[1] == "first":
    kernel.compiled.compile(arrays)
compiled = time.perf_counter()
kernel(x)
print(json.dumps([compiled - begin, time.perf_counter() - compiled]))
"""


def first_calls(backend: str) -> dict[str, float]:
    """The first call of a kernel, in milliseconds: Numba's own compilation, what is added, and in a second process."""
    with tempfile.TemporaryDirectory() as folder:
        script = Path(folder) / "first.py"
        script.write_text(FIRST)
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3", "LAYERWRIGHT_CACHE": folder}

        def run(which: str) -> list[float]:
            command = [sys.executable, str(script), which]
            done = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True)
            return [1e3 * seconds for seconds in json.loads(done.stdout.splitlines()[-1])]

        numba, added = run("first")
        again = statistics.median(run("again")[1] for _ in range(3))
    return {"numba": numba, "added": added, "second process": again}


# ------------------------------------------------------------------------------------------------- tables
def ratio(a: float, b: float) -> str:
    return f"{a / b:.2f}x" if a < 10 * b else f"{a / b:.0f}x"


def us(value: float) -> str:
    return f"{value:.2f}" if value < 10 else f"{value:,.0f}"


def row(*cells: Any) -> str:
    return f"| {' | '.join(map(str, cells))} |"


def head(*cells: str) -> list[str]:
    return [row(*cells), f"|{'---|' * len(cells)}"]


def tables(results: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [f"Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}; microseconds."]
    lines += [
        "",
        f"One op more in a chain ({SHORT} to {LONG} of them) in a compiled function, `p * x**2` in float32:",
        "",
    ]
    lines += head("backend", "n", "bare njit", "kernel", "above bare", "callback", "callback / kernel", "its own ops")
    for result in results:
        for r in result["overhead"]:
            callback = f"{us(r['callback'])} ({result['names']['callback']})"
            above, gain = f"{r['kernel'] - r['bare']:+.2f}", ratio(r["callback"], r["kernel"])
            cells = (us(r["bare"]), us(r["kernel"]), above, callback, gain, us(r["own"]))
            lines.append(row(result["backend"], f"{r['n']:,}", *cells))
    lines += [
        "",
        "One op on 10,000,000 elements, where a fresh output costs its page faults. In place: `aliases`, with a "
        "donated input on JAX and in a chain of 10 on TensorFlow; `out` on PyTorch:",
        "",
    ]
    lines += head(
        *("backend", "bare, output there", "bare, allocated", "kernel", "kernel / allocated"),
        *("in place", "its own ops"),
    )
    for result in results:
        r = result["large"]
        there, fresh, kernel = (r[name] for name in ("bare, output there", "bare, output allocated", "kernel"))
        cells = (us(there), us(fresh), us(kernel), ratio(kernel, fresh), us(r["in place"]), us(r["own"]))
        lines.append(row(result["backend"], *cells))
    lines += ["", "Exponential moving average over [64, 1000], the gradient by hand:", ""]
    lines += head("backend", "", "kernel", "the framework's way", "framework / kernel")
    for result in results:
        for what, r in result["average"].items():
            theirs = f"{us(r['scan'])} ({result['names']['scan']})"
            lines.append(row(result["backend"], what, us(r["kernel"]), theirs, ratio(r["scan"], r["kernel"])))
    lines += ["", "The same over [64, 20000], `parallel=True`; and the first call of a kernel, in milliseconds:", ""]
    lines += head("backend", "one thread", "all", "faster", "Numba compiles", "added", "`cache=True`, second process")
    for result in results:
        alone, together = (result["threads"][name] for name in ("one thread", "all threads"))
        first = (f"{result['first'][name]:.0f}" for name in ("numba", "added", "second process"))
        lines.append(row(result["backend"], us(alone), us(together), ratio(alone, together), *first))
    return "\n".join(lines)


def main() -> None:
    from layerwright import backends

    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--backend", default=",".join(backends.installed()))
    parser.add_argument("--repeat", type=int, default=31)
    parser.add_argument("--write", action="store_true", help="put the tables into docs/benchmarks.md")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.repeat)))
        return
    results = []
    for backend in given.backend.split(","):
        command = [sys.executable, __file__, "--child", "--repeat", str(given.repeat)]
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        results.append({**json.loads(output.splitlines()[-1]), "first": first_calls(backend)})
        print(f"{backend}: done", file=sys.stderr)
    text = tables(results)
    print(text)
    if given.write:
        page = PAGE.read_text()
        if BEGIN not in page:
            page = f"{page.rstrip()}\n\n## kernels\n\n{BEGIN}\n{END}\n"
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
