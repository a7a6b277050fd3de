"""Whether native operations work with a version of a framework that layerwright was never tested with.

That is tried in a process of its own, because a layout that has changed would end the process; the answer is kept.
"""

from __future__ import annotations

import contextlib
import json
import os
import subprocess
import sys
from pathlib import Path

# What the tests run on: these need no trial.
TESTED = {"tensorflow": ("2.18", "2.21"), "jax": ("0.10",), "torch": ("2.13",)}
SECONDS = 180
TRYING = "LAYERWRIGHT_TRYING"
TRIAL = """
import numpy as np, keras, layerwright as lw

@lw.kernel("(n),()->(n),()")
def running(x, scale, out, total):
    total[0] = 0.0
    for i in range(x.shape[0]):
        if x[i] < 0:
            raise ValueError("below zero")
        total[0] += scale * x[i]
        out[i] = total[0]

for dtype in ("float32", "int32"):
    x = keras.ops.convert_to_tensor(np.arange(6).reshape(2, 3).astype(dtype))
    out, total = running(x, keras.ops.convert_to_tensor(np.array(2, dtype)))
    assert np.array_equal(keras.ops.convert_to_numpy(out), [[0, 2, 6], [6, 14, 24]])
    assert np.array_equal(keras.ops.convert_to_numpy(total), [6, 24])
    try:
        keras.ops.convert_to_numpy(running(-x, keras.ops.convert_to_tensor(np.array(2, dtype)))[0])
    except Exception as error:
        assert "below zero" in str(error)
    else:
        raise AssertionError
print("works")
"""


def works(framework: str, version: str) -> bool:
    """Whether native operations work with this version: known, kept from an earlier trial, or tried now."""
    if version.startswith(tuple(f"{tested}." for tested in TESTED[framework])) or TRYING in os.environ:
        return True
    kept = _kept()
    key = f"{framework} {version}"
    if key not in kept:
        answer = _try(framework)
        if answer is None:  # a busy machine says nothing about the next time
            return False
        kept[key] = answer
        _keep(kept)
    return kept[key]


def _try(framework: str) -> bool | None:
    environment = {**os.environ, "KERAS_BACKEND": framework, TRYING: "1"}
    try:
        done = subprocess.run(
            [sys.executable, "-c", TRIAL],
            env=environment,
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=SECONDS,
            check=False,
        )
    except (OSError, subprocess.TimeoutExpired):
        return None
    return done.returncode == 0 and done.stdout.split()[-1:] == ["works"]


def _file() -> Path:
    import layerwright
    from layerwright.kernels.cache import folder

    return folder() / f"trials-{layerwright.__version__}.json"


def _kept() -> dict[str, bool]:
    with contextlib.suppress(OSError, ValueError):
        found = json.loads(_file().read_text())
        if isinstance(found, dict):
            return {str(key): value is True for key, value in found.items()}
    return {}


def _keep(answers: dict[str, bool]) -> None:
    with contextlib.suppress(OSError):
        _file().parent.mkdir(parents=True, exist_ok=True)
        _file().write_text(json.dumps(answers))
