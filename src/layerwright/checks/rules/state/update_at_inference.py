from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.probes.modes import Changed
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._random import is_keras
from layerwright.checks.rules.state._where import touched
from layerwright.checks.walk import children

CARRIED = re.compile(
    r"cache|memory|queue|hidden|carry|stat(e|es)$|_state|buffer|bank|history|cursor|write_index", re.IGNORECASE
)


@rule("LW712", "error", hides=("reload-differs", "graph-differs", "inference-random", "batch-dependence"))
def update_at_inference(lab: Lab) -> Iterator[Finding]:
    """A call in inference mode changes weights.

    ## What it does
    Compares the non-trainable weights before and after a call with `training=False`.

    ## Why is this bad
    Statistics that move while predictions are made depend on the data that happens to be predicted. The second
    prediction differs from the first, and the model that is saved afterwards is not the one that was trained.

    ## Example
    ```python
    class Centered(keras.layers.Layer):
        def build(self, input_shape):
            self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="mean")

        def call(self, x):
            self.mean.assign(0.9 * self.mean + 0.1 * ops.cast(ops.mean(x, axis=0), self.mean.dtype))
            return x - ops.cast(self.mean, x.dtype)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Centered(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="mean")

        def call(self, x, training=None):
            if training:
                self.mean.assign(0.9 * self.mean + 0.1 * ops.cast(ops.mean(x, axis=0), self.mean.dtype))
            return x - ops.cast(self.mean, x.dtype)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    State that is carried from call to call on purpose is left alone: that of a layer with `stateful=True`, and
    weights whose name says so (`cache`, `memory`, `queue`, `state`, `history`, ...).

    ## Source
    Keras' `BatchNormalization`, which updates its statistics only `if training`.
    """
    run = lab.in_inference.get()
    layers = [run.layer, *(child for _, child in children(run.layer))]
    paths = {id(run.layer): "self", **{id(child): path for path, child in children(run.layer)}}
    changed = [c for c in run.changed if not CARRIED.search(c.variable.name)]
    for owner in layers:
        mine = [c for c in changed if any(c.variable is v for v in _own(owner))]
        if not mine or is_keras(owner) or getattr(owner, "stateful", False):
            continue
        names = [_named(owner, c) for c in mine]
        component = next((c for c in lab.components if type(c.layer) is type(owner)), None)
        yield lab.finding(
            f"A call in inference mode changes {', '.join(f'`{paths[id(owner)]}.{n}`' for n in names)}.",
            expected="weights stay as they are with training=False",
            got=f"`{names[0]}` moves by {abs(mine[0].after.astype('float64') - mine[0].before).max():.2g}",
            fix="take `training=None` as an argument of `call`, and assign only `if training`.",
            at=(touched(component.source, names[0], "call") or component.source) if component else None,
        )


def _own(layer: Any) -> list[Any]:
    below = {id(v) for child in internals.own_layers(layer) for v in child.variables}
    return [v for v in layer.non_trainable_variables if id(v) not in below]


def _named(owner: Any, change: Changed) -> str:
    return str(next((name for name, value in vars(owner).items() if value is change.variable), change.variable.name))
