from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from layerwright.checks.attempt import Failure
from layerwright.checks.feed import close
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import constructors
from layerwright.checks.rules.config._pairs import MISSING, Pair, pairs
from layerwright.checks.rules.config._saved_parts import where
from layerwright.checks.source import Source


@rule("LW107", "warning", hides=("reload-differs", "state-not-saved"))
def config_json_type(lab: Lab) -> Iterator[Finding]:
    """An argument comes back from JSON as another type, and the layer doesn't work with it.

    ## What it does
    Turns the layer into JSON and back, and compares the types of what both hold. A tuple that is a list
    afterwards is reported where the copy fails or computes something else with it and works once it
    is put back; an array or bytes that became a dict, and int keys that became text, always are.

    ## Why is this bad
    JSON has no tuples, no arrays, no bytes, and only text as keys. The layer works until it is loaded.

    ## Example
    ```python
    class ToGrid(keras.layers.Layer):
        def __init__(self, grid, **kwargs):
            super().__init__(**kwargs)
            self.grid = grid

        def call(self, x):
            return ops.reshape(x, (-1,) + self.grid)

        def get_config(self):
            return {**super().get_config(), "grid": self.grid}
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_config_json_type")
    class ToGrid(keras.layers.Layer):
        def __init__(self, grid, **kwargs):
            super().__init__(**kwargs)
            self.grid = tuple(grid)

        def call(self, x):
            return ops.reshape(ops.cast(x, self.compute_dtype), (-1,) + self.grid)

        def compute_output_shape(self, input_shape):
            return (input_shape[0],) + self.grid

        def compute_mask(self, inputs, previous_mask=None):
            return None

        def get_config(self):
            return {**super().get_config(), "grid": self.grid}
    ```

    ## Known limits
    What only a training step does with the list isn't seen.

    ## Source
    Keras issue 19776.
    """
    if not lab.components or next(constructors(lab.components[0].source), None) is None:
        return
    revival = lab.revived.get()
    if revival.copy is None:
        yield from _refused_argument(lab, revival.received or {})
        return
    changed = [p for p in pairs(lab.described.get(), revival.copy) if _change(p.first, p.second)]
    shown: set[tuple[int, str]] = set()
    for pair in changed:
        key = (id(pair.owner), pair.attribute)
        if key not in shown and (_is_unusable(pair) or _harms(lab, pair)):
            shown.add(key)
            yield _finding(lab, pair, lab.saved.failure.summary if lab.saved.failure else None)


def _finding(lab: Lab, pair: Pair, seen: str | None) -> Finding:
    name, (before, after) = pair.path, _change(pair.first, pair.second) or ("", "")
    remedy = {
        "a tuple": f"write self.{name} = tuple({pair.attribute}) in `__init__`.",
        "int keys": f"convert the keys of `{pair.attribute}` back with int() in `__init__`.",
    }
    return lab.finding(
        f"`self.{name}` of `{type(pair.owner).__name__}` has {before} before a save and {after} once it is loaded.",
        expected=f"{before} in the loaded layer too",
        got=seen or after,
        fix=remedy.get(before, f"convert `{pair.attribute}` in `__init__` to what the layer works with."),
        at=where(Source(pair.owner, lab.home), pair.attribute),
    )


def _refused_argument(lab: Lab, received: Mapping[str, Any]) -> Iterator[Finding]:
    """Where the constructor itself fails on the new type."""
    failure = lab.revived.get().failure
    if failure is None or not failure.frames or not _is_about_types(failure):
        return
    for name, value in received.items():
        change = _change((lab.arguments() or {}).get(name, MISSING), value)
        if change:
            yield lab.finding(
                f"`{type(lab.made.get().layer).__name__}.__init__` works with `{name}` as {change[0]}, and gets "
                f"{change[1]} when it is loaded.",
                expected=f"a constructor that takes {change[1]} as well",
                got=failure.summary,
                fix=f"convert `{name}` first, for example with tuple({name}).",
                at=failure,
            )
            return


def _change(first: Any, second: Any) -> tuple[str, str] | None:
    """What became of a value's type, in words; None where nothing did that matters."""
    if isinstance(first, tuple) and isinstance(second, list):
        return "a tuple", "a list"
    if isinstance(second, Mapping) and str(second.get("class_name", "")).startswith("__"):
        return (
            (f"a {type(first).__name__}", "a dict")
            if not isinstance(first, Mapping) and callable(first) is False
            else None
        )
    if isinstance(first, Mapping) and isinstance(second, Mapping) and first and second:
        if any(isinstance(k, int | float) for k in first) and all(isinstance(k, str) for k in second):
            return "int keys", "keys of text"
        return None
    if isinstance(first, np.ndarray) and isinstance(second, list):
        return "an array", "a list"
    return None


def _is_about_types(failure: Failure) -> bool:
    return re.search(r"\b(TrackedList|TrackedDict|list|tuple|dict|str|bytes)\b", failure.text) is not None


def _is_unusable(pair: Pair) -> bool:
    return isinstance(pair.second, Mapping)


def _harms(lab: Lab, pair: Pair) -> bool:
    """Whether the copy fails, or computes something else, and no longer does so with the old value."""
    failed = lab.loaded.failure
    if failed is not None:
        return _is_about_types(failed)
    if not lab.called.ok:
        return False
    loaded = lab.loaded.value if lab.loaded.ok else lab.revived.get().copy
    owner = _owner(lab, loaded, pair)
    if owner is None or _works(lab, loaded):
        return False
    before = vars(owner)[pair.attribute]
    # Written past Keras, which would wrap it.
    vars(owner)[pair.attribute] = vars(pair.owner)[pair.attribute]
    try:
        return _works(lab, loaded)
    finally:
        vars(owner)[pair.attribute] = before


def _owner(lab: Lab, loaded: Any, pair: Pair) -> Any:
    """The layer in `loaded` that stands where the pair's owner stands in the original."""
    if pair.owner is lab.described.get():
        return loaded
    found = [p.second for p in pairs(lab.described.get(), loaded) if p.first is pair.owner]
    return found[0] if found and found[0] is not MISSING else None


def _works(lab: Lab, layer: Any) -> bool:
    """Whether a layer computes what the original does, eagerly and on Keras tensors."""
    outputs = lab.attempt(lambda: lab.infer(layer, lab.varied))
    if not outputs.ok or (lab.stored.ok and not close(lab.stored.get().outputs, outputs.get())):
        return False
    feed = lab.feed.symbolic(lab.subject.batched)
    return not lab.symbolic.ok or lab.attempt(lambda: layer(*feed.args, **feed.kwargs)).ok
