"""The environment variables of a child process."""

from __future__ import annotations

import os
import sysconfig
from collections.abc import Mapping
from pathlib import Path

import layerwright
from layerwright.checks import compilations


def environment(backend: str, extra: Mapping[str, str] | None = None) -> dict[str, str]:
    """The environment of a child: this one's, with the backend, and a path on which it finds this very layerwright."""
    given = {**os.environ, **(extra or {})}
    paths = [os.path.abspath(p) for p in given.get("PYTHONPATH", "").split(os.pathsep) if p]
    home = str(Path(next(iter(layerwright.__path__))).resolve().parent)
    if home not in paths and home not in sysconfig.get_paths().values():
        paths.insert(0, home)
    given.update(KERAS_BACKEND=backend, TF_CPP_MIN_LOG_LEVEL="3", PYTHONPATH=os.pathsep.join(paths))
    # The user's code may print what the terminal's encoding can't hold; here nothing is shown on a terminal.
    given.setdefault("PYTHONIOENCODING", "utf-8:backslashreplace")
    if backend == "jax" and "JAX_COMPILATION_CACHE_DIR" not in given:
        # Children compile the same small programs; the second to need one reads what the first compiled.
        given.update(JAX_COMPILATION_CACHE_DIR=compilations.folder(), JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS="0")
    return given
