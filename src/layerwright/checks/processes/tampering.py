"""Whether a subject's code has changed Keras or the builtins, so that what comes after it would be checked wrongly."""

from __future__ import annotations

import builtins
from collections.abc import Iterator
from typing import Any


class Seal:
    """What Keras and the builtins hold when it is made, to be compared later."""

    def __init__(self) -> None:
        self._held = {(name, key): value for name, owner in _owners() for key, value in list(vars(owner).items())}

    def broken(self) -> str | None:
        """The first name that holds something else by now, or None."""
        now = {name: vars(owner) for name, owner in _owners()}
        for (name, key), value in self._held.items():
            if now[name].get(key, self) is not value and not key.startswith(("_abc", "__warn")):
                return f"{name}.{key}"
        return None


def _owners() -> Iterator[tuple[str, Any]]:
    import keras

    yield from (("keras.layers.Layer", keras.layers.Layer), ("keras.Model", keras.Model))
    yield from (("keras.Operation", keras.Operation), ("keras.Variable", keras.Variable))
    yield from (("keras.ops", keras.ops), ("keras.saving", keras.saving), ("keras.random", keras.random))
    yield "builtins", builtins
