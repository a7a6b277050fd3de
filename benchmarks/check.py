"""How long a check takes: a small layer under every rule, and all documented layers in one process, by backend.

    python benchmarks/check.py [--repeat 7] [--write]

Each backend runs in a process of its own, one after another. The first check of a process is shown apart: it
pays for the framework's own start. `--write` puts the table into docs/benchmarks.md.
"""

from __future__ import annotations

import argparse
import importlib.util
import json
import os
import platform
import statistics
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[1]
PAGE = ROOT / "docs" / "benchmarks.md"
BEGIN, END = "<!-- check: begin -->", "<!-- check: end -->"


def measure(repeat: int, documented: bool) -> dict[str, Any]:
    """Times in this process, in seconds; the backend is the one that Keras runs on."""
    started = time.perf_counter()
    import keras
    import numpy as np

    import layerwright as lw
    from layerwright.checks.rule import load

    rules = len(load())
    imported = time.perf_counter() - started

    @keras.saving.register_keras_serializable(package="benchmark")
    class Small(keras.layers.Layer):  # type: ignore[misc]
        def __init__(self, units: int = 8, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.supports_masking = True
            self.units = units

        def build(self, input_shape: Any) -> None:
            self.kernel = self.add_weight(shape=(input_shape[-1], self.units), name="kernel")
            self.bias = self.add_weight(shape=(self.units,), initializer="zeros", name="bias")

        def call(self, x: Any) -> Any:
            x = keras.ops.cast(x, self.compute_dtype)
            return keras.ops.tanh(keras.ops.matmul(x, self.kernel) + self.bias)

        def compute_output_shape(self, input_shape: Any) -> Any:
            return (*input_shape[:-1], self.units)

        def get_config(self) -> Any:
            return {**super().get_config(), "units": self.units}

    def timed(units: int) -> float:
        # Another number of units each time: frameworks cache what they compiled for a shape.
        begin = time.perf_counter()
        report = lw.check(lambda: Small(units), np.ones((2, units + 1), "float32"))
        assert report.ok, str(report)
        return time.perf_counter() - begin

    first, small = timed(4), [timed(5 + i) for i in range(repeat)]
    begin, count = time.perf_counter(), 0
    for path in sorted((ROOT / "tests" / "rules").glob("*/*.py")) if documented else []:
        module = _load(path)
        if keras.backend.backend() in getattr(module, "BACKENDS", (keras.backend.backend(),)):
            lw.check(module.make, *module.INPUTS)
            count += 1
    return {
        "backend": keras.backend.backend(),
        "rules": rules,
        "import": imported,
        "first": first,
        "small": statistics.median(small),
        "small_worst": max(small),
        "documented": time.perf_counter() - begin,
        "count": count,
    }


def _load(path: Path) -> Any:
    name = f"documented_{path.parent.name.replace('-', '_')}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    sys.modules[name] = module
    spec.loader.exec_module(module)
    return module


def table(rows: list[dict[str, Any]]) -> str:
    """The results as Markdown."""
    lines = [
        f"{rows[0]['rules']} rules; Python {platform.python_version()}, {os.cpu_count()} cores, {platform.machine()}.",
        "",
        "| backend | import | first check | a small layer, median (worst) | documented layers, one process |",
        "|---|---|---|---|---|",
    ]
    for r in rows:
        together = f"{r['count']} in {r['documented']:.0f} s" if r["count"] else "not measured"
        small = f"{r['small']:.2f} s ({r['small_worst']:.2f} s)"
        lines.append(f"| {r['backend']} | {r['import']:.1f} s | {r['first']:.1f} s | {small} | {together} |")
    return "\n".join(lines)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--repeat", type=int, default=7)
    parser.add_argument("--write", action="store_true", help="put the table into docs/benchmarks.md")
    parser.add_argument("--small", action="store_true", help="measure the small layer only")
    parser.add_argument("--child", action="store_true", help=argparse.SUPPRESS)
    given = parser.parse_args()
    if given.child:
        print(json.dumps(measure(given.repeat, not given.small)))
        return
    from layerwright import backends

    rows = []
    for backend in backends.installed():
        command = [
            sys.executable,
            __file__,
            "--child",
            "--repeat",
            str(given.repeat),
            *(["--small"] if given.small else []),
        ]
        environment = {**os.environ, "KERAS_BACKEND": backend, "TF_CPP_MIN_LOG_LEVEL": "3"}
        output = subprocess.run(command, env=environment, stdout=subprocess.PIPE, text=True, check=True).stdout
        rows.append(json.loads(output.splitlines()[-1]))
        print(f"{backend}: done", file=sys.stderr)
    text = table(rows)
    print(text)
    if given.write:
        page = PAGE.read_text() if PAGE.exists() else f"# Benchmarks\n\n## check\n\n{BEGIN}\n{END}\n"
        before, rest = page.split(BEGIN)
        PAGE.write_text(f"{before}{BEGIN}\n{text}\n{END}{rest.split(END)[1]}")


if __name__ == "__main__":
    main()
