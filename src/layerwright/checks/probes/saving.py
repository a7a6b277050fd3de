"""Files: what comes back of a layer after it was saved and loaded."""

from __future__ import annotations

import dataclasses
import json
import shutil
import tempfile
from collections.abc import Mapping
from functools import cached_property
from pathlib import Path
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.feed import close
from layerwright.checks.probes.bench import SEED
from layerwright.checks.probes.configs import Configs


@dataclasses.dataclass(frozen=True)
class Stored:
    """A layer inside a subclassed model in a `.keras` file, and its outputs in inference mode."""

    layer: Any
    outputs: list[np.ndarray]
    path: Path
    holder: type


@dataclasses.dataclass(frozen=True)
class Saved:
    """A layer inside a subclassed model, saved to a `.keras` file and loaded again.

    Attributes:
        layer, loaded: The layer before and after.
        outputs, reloaded: Their outputs for the same inputs, in inference mode.
        path: The file.
    """

    layer: Any
    loaded: Any
    outputs: list[np.ndarray]
    reloaded: list[np.ndarray]
    path: Path


@dataclasses.dataclass(frozen=True)
class Built:
    """A fresh layer on which only `build` was called, with the shapes as a file gives them (lists, not tuples)."""

    layer: Any
    shapes: Mapping[str, Any]


class Saving(Configs):
    """Probes that save the layer to a file and bring it back."""

    @cached_property
    def built(self) -> Attempt[Built]:
        """A fresh layer built from the called one's shapes, as loading does it."""

        def probe() -> Built:
            config = self.called.get().layer.get_build_config()
            if not config:
                raise Skip("Keras keeps no shapes to build it from")
            layer = self.fresh()
            shapes = json.loads(json.dumps(config))
            if not layer.built or not internals.is_default(type(layer).build):
                layer.build_from_config(shapes)
            return Built(layer, shapes)

        return self.attempt(probe)

    @cached_property
    def stored(self) -> Attempt[Stored]:
        """The called layer inside a subclassed model, its weights moved, saved; fails only where saving fails."""
        return self.attempt(lambda: self._store("holder.keras"))

    def _store(self, name: str, moved: bool = True) -> Stored:
        def call() -> tuple[Any, list[np.ndarray]]:
            layer = self.fresh()
            layer(*self.feed.args, **self.feed.kwargs)
            if moved:
                perturb(layer)
            outputs = self.infer(layer, self.varied)
            # A stateful layer may have settled where steadiness was asked for, and not here.
            if not close(outputs, self.infer(layer, self.varied)):
                raise Skip("the layer keeps state from call to call")
            return layer, outputs

        self.called.get()
        if not self.inference_is_steady:
            raise Skip("two calls in inference mode differ already")
        layer, outputs = self.attempt(call).get()
        holder = holder_class()(layer)
        holder.built = True
        holder.save(self.folder / name)
        return Stored(layer, outputs, self.folder / name, type(holder))

    @cached_property
    def loaded(self) -> Attempt[Any]:
        """The layer as it comes back from the file; fails only where loading fails."""
        return self.attempt(lambda: self._load(self.stored.get()))

    def _load(self, stored: Stored) -> Any:
        internals.seed_everything(SEED + 4)
        with self.known_classes(Holder=stored.holder):
            return keras.models.load_model(stored.path, compile=False, safe_mode=False).body

    @cached_property
    def saved(self) -> Attempt[Saved]:
        """The layer inside a subclassed model, through a `.keras` file, and called again."""

        def probe() -> Saved:
            found = self._compare(self.stored.get(), self.loaded.get())
            if close(found.outputs, found.reloaded) or not same_weights(found.layer, found.loaded):
                return found
            # Moving the weights may have made stale what the layer derives from them when it is loaded.
            stored = self._store("as_made.keras", moved=False)
            as_made = self._compare(stored, self._load(stored))
            return as_made if close(as_made.outputs, as_made.reloaded) else found

        failure = self.stored.failure or self.loaded.failure
        return self.attempt(probe) if failure is None else Attempt(failure=failure)

    def _compare(self, stored: Stored, loaded: Any) -> Saved:
        return Saved(stored.layer, loaded, stored.outputs, self.infer(loaded, self.varied), stored.path)

    @cached_property
    def folder(self) -> Path:
        """A folder for files, gone when the laboratory is closed."""
        return Path(tempfile.mkdtemp(prefix="layerwright-"))

    def close(self) -> None:
        """Remove what the probes left on disk."""
        if "folder" in vars(self):
            shutil.rmtree(self.folder, ignore_errors=True)


def perturb(layer: Any, seed: int = 3) -> None:
    """Move every floating weight a little, so that an initial value is no longer the saved one."""
    rng = np.random.default_rng(seed)
    for variable in layer.variables:
        if not keras.backend.is_float_dtype(variable.dtype):
            continue
        value = keras.ops.convert_to_numpy(variable.value).astype("float32")
        step = 0.1 + 0.2 * rng.random(value.shape)
        sign = 1.0 if not variable.trainable else rng.choice([-1.0, 1.0], value.shape)
        variable.assign(np.asarray(value + sign * step))


def same_weights(first: Any, second: Any) -> bool:
    """Whether two layers have equal weights, in the same order."""
    values = [[np.asarray(keras.ops.convert_to_numpy(v.value)) for v in layer.weights] for layer in (first, second)]
    return len(values[0]) == len(values[1]) and all(map(np.array_equal, *values))


def holder_class() -> type:
    """A subclassed model around a layer: a functional model would hide that `build` leaves something unbuilt."""

    class Holder(keras.Model):  # type: ignore[misc]
        def __init__(self, body: Any, **kwargs: Any) -> None:
            super().__init__(**kwargs)
            self.body = body

        def build(self, *_: Any) -> None:
            self.built = True

        def call(self, *args: Any, **kwargs: Any) -> Any:
            return self.body(*args, **kwargs)

        def get_config(self) -> dict[str, Any]:
            return {**super().get_config(), "body": keras.saving.serialize_keras_object(self.body)}

        @classmethod
        def from_config(cls, config: dict[str, Any]) -> Any:
            return cls(**{**config, "body": keras.saving.deserialize_keras_object(config["body"])})

    return Holder
