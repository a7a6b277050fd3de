"""A saved model as something to check: the model itself, and every layer of the user's or Lambda that it holds."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import attempt, foreign
from layerwright.checks.loading.found import Found
from layerwright.checks.loading.running import CannotLoad
from layerwright.checks.report import Problem


def load_model(path: str | Path) -> list[Found]:
    """Load a `.keras` file in safe mode.

    Raises:
        CannotLoad: Where Keras can't load it, for instance because a custom class or a Lambda's code would be needed.
    """
    path = Path(path).resolve()
    done = attempt(lambda: keras.saving.load_model(path, compile=False, safe_mode=True), lambda file: not foreign(file))
    if done.failure is not None:
        raise CannotLoad(_problem(path, done.failure.text, done.failure.summary))
    model = done.get()
    whole = Found(path.name, lambda: keras.saving.load_model(path, compile=False, safe_mode=True), str(path))
    return [whole, *_parts(model, path)]


def _parts(model: Any, path: Path) -> Iterator[Found]:
    for layer in internals.sublayers(model):
        theirs = type(layer).__module__.split(".")[0] != "keras"
        if theirs or isinstance(layer, keras.layers.Lambda):
            yield Found(f"{layer.name} ({type(layer).__name__})", _again(layer), str(path))


def _again(layer: Any) -> Callable[[], Any]:
    saved = keras.saving.serialize_keras_object(layer)
    return lambda: keras.saving.deserialize_keras_object(saved, safe_mode=True)


def _problem(path: Path, text: str, summary: str) -> Problem:
    if "lambda" in text.lower() and "safe_mode" in text:
        help_ = "replace the Lambda by a layer with a registered class; its code isn't loaded from a file."
    elif "Could not locate class" in text:
        help_ = "check the file that defines the class; a model of custom classes can't be loaded without them."
    else:
        help_ = "save the model again with the installed version of Keras."
    return Problem("import-failed", f"`{path.name}` can't be loaded: {summary}.", help_, str(path))
