"""What another process makes of a saved layer: for the rule `reload-differs`, where such a process is kept at hand."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING, Any

import keras

from layerwright.checks import internals
from layerwright.checks.processes import reload, shipping

if TYPE_CHECKING:
    import numpy as np

    from layerwright.checks.lab import Lab


def load(lab: Lab) -> list[np.ndarray] | str | None:
    """The outputs of the saved layer there, an error's text, or None where it could not be tried."""
    if lab.legacy_add_weight is not None:
        return None  # it runs here only because old calls are accepted meanwhile
    stored, feed = lab.stored.get(), lab.varied
    layers = [stored.layer, *internals.sublayers(stored.layer)]
    references, reason = shipping.refer([*map(type, layers), *registered_in(stored.path)])
    if reason is not None:
        return None
    found = reload.load_and_call(stored.path, references, (feed.args, {**feed.kwargs, "training": False}), lab.backend)
    return found.outputs if found.error is None else found.error


def registered_in(saved: Path) -> Iterator[Any]:
    """The registered classes and functions that the config in a `.keras` file names."""
    with zipfile.ZipFile(saved) as archive:
        config = json.loads(archive.read("config.json"))
    known = keras.saving.get_custom_objects()
    names = dict.fromkeys(name for name in _names(config) if name in known)
    return (known[name] for name in names if hasattr(known[name], "__qualname__"))


def _names(config: Any) -> Iterator[str]:
    if isinstance(config, dict):
        if isinstance(config.get("registered_name"), str):
            yield config["registered_name"]
        yield from (name for value in config.values() for name in _names(value))
    elif isinstance(config, list):
        yield from (name for value in config for name in _names(value))
