"""Using once what is slow at its first use, in a process that has nothing else to do yet."""

from __future__ import annotations

import contextlib
import tempfile
from pathlib import Path

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import quiet
from layerwright.checks.probes.saving import holder_class


def warm_up() -> None:
    """Call, fit, save and load a small layer, and leave no trace; what fails here fails later, with its reason."""
    nothing_said = contextlib.suppress(Exception)
    kept = (internals.tensorflow_kept_out(), internals.global_state_kept(), quiet(), nothing_said)
    with contextlib.ExitStack() as stack:
        for context in kept:
            stack.enter_context(context)
        folder = stack.enter_context(tempfile.TemporaryDirectory())
        x = np.ones((2, 3), "float32")
        model = keras.Sequential([keras.Input((3,)), keras.layers.Dense(2)])
        model.compile("sgd", "mse")
        model.fit(x, model.predict(x, verbose=0), verbose=0)
        holder = holder_class()(keras.layers.Dense(2))
        holder(x)
        path = Path(folder) / "warm.keras"
        holder.save(path)
        with keras.saving.CustomObjectScope({"Holder": holder_class()}):
            keras.saving.load_model(path, compile=False, safe_mode=False).body(x)
