from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from layerwright.checks.feed import close, worst
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._arguments import own_arguments
from layerwright.checks.rules.config._pairs import MISSING, array, differ, pairs
from layerwright.checks.source import Function, Source
from layerwright.checks.walk import held

PLAIN = (bool, int, float, str)


@rule("LW118", "warning", hides=("reload-differs",))
def state_not_saved(lab: Lab) -> Iterator[Finding]:
    """Something that the layer learned is neither a weight nor in the config.

    ## What it does
    Saves and loads the layer, and where the outputs differ, looks for arrays, numbers and text in its
    attributes that changed after the construction and that the loaded layer hasn't got.

    ## Why is this bad
    Means, vocabularies and counters that an `adapt()` method puts into attributes are gone in a loaded model. It
    predicts something else. Nothing is said.

    ## Example
    ```python
    class Centre(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.centre = np.zeros(4, "float32")

        def adapt(self, data):
            self.centre = np.mean(data, axis=0)

        def call(self, x):
            return x - ops.cast(self.centre, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_state_not_saved")
    class Centre(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            if not self.built:
                shape = (input_shape[-1],)
                self.centre = self.add_weight(shape=shape, initializer="zeros", trainable=False, name="centre")

        def adapt(self, data):
            self.build(data.shape)
            self.built = True
            self.centre.assign(np.mean(data, axis=0))

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return x - ops.cast(self.centre, x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    State that changes nothing in the outputs for these inputs isn't seen.

    ## Source
    Keras issue 17383.
    """
    saved = lab.saved.get()
    if close(saved.outputs, saved.reloaded) or not lab.components:
        return
    anew = lab.attempt(lab.rebuilt).value
    before = {} if anew is None else {item.path: item.value for item in held(anew)}
    in_call = {target.attr for _, target, _ in lab.components[0].source.stores("call")}
    shown: set[str] = set()
    for pair in pairs(saved.layer, saved.loaded):
        if pair.attribute in in_call or pair.path in shown or not _is_lost(pair.first, pair.second):
            continue
        if pair.owner is saved.layer:
            if not _is_state(lab, pair.attribute, pair.first, before.get(pair.path, MISSING), anew):
                continue
        elif pair.attribute in {a.name for a in own_arguments(Source(pair.owner, lab.home))}:
            continue
        if any(pair.path.startswith((f"{path}.", f"{path}[")) for path in shown):
            continue
        shown.add(pair.path)
        yield lab.finding(
            f"`self.{pair.path}` of `{type(pair.owner).__name__}` isn't saved: it is no weight, and not in the config.",
            expected=f"{_text(pair.first)} in the loaded layer too",
            got=f"{_text(pair.second)}; the outputs differ by {worst(saved.outputs, saved.reloaded):.3g}",
            fix=f"keep `{pair.attribute}` in a weight: self.add_weight(..., trainable=False), then assign to it.",
            at=_stored(lab, lab.components[0], pair.owner, pair.attribute),
        )


def _is_lost(first: Any, second: Any) -> bool:
    if isinstance(first, PLAIN):
        return not isinstance(second, PLAIN) or differ(first, second)
    if isinstance(first, list | dict | set) and isinstance(second, list | dict | set):
        return len(first) != len(second)
    one = array(first)
    return one is not None and (array(second) is None or differ(first, second))


def _is_state(lab: Lab, name: str, value: Any, initial: Any, anew: Any) -> bool:
    """Whether an attribute isn't what the constructor made it."""
    if anew is not None:
        return initial is MISSING or _is_lost(value, initial)
    return name not in {a.name for a in own_arguments(lab.components[0].source)}


def _stored(lab: Lab, component: Component, owner: Any, name: str) -> Any:
    """Where the attribute is stored outside the constructor, else inside it, else the class."""
    source = component.source if owner is component.layer else Source(owner, lab.home)
    methods = [m for cls in source.cls.__mro__ for m in vars(cls) if not m.startswith("__")]
    found: list[tuple[Function, Any]] = [
        (function, node) for function, target, node in source.stores(*methods, "__init__") if target.attr == name
    ]
    return found[0] if found else source


def _text(value: Any) -> str:
    if value is MISSING:
        return "nothing"
    if isinstance(value, PLAIN):
        return repr(value)
    if isinstance(value, list | dict | set):
        return f"{len(value)} entries"
    values = array(value)
    if values is None:
        return f"a {type(value).__name__}"
    mean = f", mean {np.mean(values.astype('float64')):.4g}" if values.size and values.dtype.kind in "fiub" else ""
    return f"an array of shape {values.shape}{mean}"
