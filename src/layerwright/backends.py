"""The three frameworks: which are installed and which one Keras runs on. Imports none of them."""

from __future__ import annotations

import importlib.util
import os
import sys
from typing import Literal, cast

from layerwright.errors import BackendError

Backend = Literal["tensorflow", "jax", "torch"]
BACKENDS: tuple[Backend, ...] = ("tensorflow", "jax", "torch")


def installed() -> list[Backend]:
    """The frameworks that can be imported, in the order in which Keras prefers them."""
    return [name for name in BACKENDS if _importable(name)]


def _importable(name: str) -> bool:
    if name in sys.modules:
        return sys.modules[name] is not None
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False


def choose(wanted: str | None = None) -> Backend:
    """The framework to run on: the one asked for, else `KERAS_BACKEND`, else one that is installed.

    Raises:
        BackendError: Where it isn't installed, isn't one of the three, or none is.
    """
    have = installed()
    asked = wanted or os.environ.get("KERAS_BACKEND") or None
    if asked is not None and asked not in BACKENDS:
        raise BackendError(
            f"`{asked}` is not a backend that layerwright checks on.",
            expected=", ".join(BACKENDS),
            got=asked,
            fix=f"pass one that is installed: {', '.join(have) or 'none is'}.",
        )
    if not have:
        raise BackendError(
            "No framework is installed for Keras to run on.",
            expected=f"one of {', '.join(BACKENDS)}",
            got="none of them can be imported",
            fix='pip install "layerwright[jax]" (or [tensorflow], or [torch]).',
        )
    if asked is not None and asked not in have:
        raise BackendError(
            f"The backend `{asked}` is not installed.",
            expected=f"one of {', '.join(have)}",
            got=asked,
            fix=f'pip install "layerwright[{asked}]", or choose another backend.',
        )
    return asked if asked is not None else have[0]


def running() -> Backend:
    """The backend on which Keras runs in this process.

    Where Keras isn't imported yet and the user chose no backend, one that is installed is chosen first:
    Keras' own default is TensorFlow, installed or not.
    """
    if "keras" not in sys.modules and not os.environ.get("KERAS_BACKEND") and not _configured():
        os.environ["KERAS_BACKEND"] = choose()
    import keras

    return cast(Backend, keras.backend.backend())


def _configured() -> bool:
    """Whether the user's Keras configuration file names a backend that is installed."""
    import json
    from pathlib import Path

    home = Path(os.environ.get("KERAS_HOME") or Path("~/.keras").expanduser())
    try:
        name = json.loads((home / "keras.json").read_text()).get("backend")
    except (OSError, ValueError):
        return False
    return name in installed()
