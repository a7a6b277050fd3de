"""Which weights and inputs get a gradient, over all the steps that were tried."""

from __future__ import annotations

import ast
from collections.abc import Iterable, Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks.feed import close
from layerwright.checks.lab import Component, Lab
from layerwright.checks.probes.gradients import Gradient
from layerwright.checks.source import UNKNOWN, Function

# Names of functions without a gradient, in keras.ops and in the frameworks.
BLOCKING = (
    *("argmax", "argmin", "argsort", "round", "rint", "floor", "ceil", "trunc", "sign", "one_hot", "stop_gradient"),
    *("searchsorted", "digitize", "bincount", "histogram", "greater", "less", "greater_equal", "less_equal", "equal"),
    *(
        "not_equal",
        "logical_and",
        "logical_or",
        "isfinite",
        "argpartition",
        "top_k",
        "detach",
        "zeros_like",
        "ones_like",
    ),
    *("floor_divide", "heaviside", "signbit", "convert_to_numpy"),
)


def steps(lab: Lab) -> list[Gradient]:
    """Every step that could be made: compiled in training mode, and eager ones at random inputs and weights."""
    attempts = [lab.training_step, *lab.random_steps]
    return [a.value for a in attempts if a.value is not None]


def nothing(gradient: np.ndarray | None) -> bool:
    """Whether a gradient is absent or zero everywhere."""
    return gradient is None or not np.any(gradient)


def without_gradient(lab: Lab) -> list[int]:
    """The trainable weights, by place, whose gradient is absent or zero in every step."""
    made = steps(lab)
    if not made:
        return []
    return [i for i in range(len(made[0].step.weights)) if all(nothing(g.step.weights[i]) for g in made)]


def matters(lab: Lab, place: int) -> bool:
    """Whether outputs, losses or state change when this trainable weight is changed strongly."""
    layer = lab.called.get().layer
    weight = layer.trainable_variables[place]
    before = keras.ops.convert_to_numpy(weight.value)
    rng = np.random.default_rng(place)
    feeds = [lab.feed, lab.feed.normal(5, 2.0)]
    try:
        plain = [seen(lab, layer, feed) for feed in feeds]
        for scale in (1.0, 30.0):
            weight.assign((scale * rng.standard_normal(before.shape)).astype(str(before.dtype)))
            if any(not close(old, seen(lab, layer, feed), 1e-6) for old, feed in zip(plain, feeds, strict=True)):
                return True
    finally:
        weight.assign(before)
    return False


def seen(lab: Lab, layer: Any, feed: Any) -> list[np.ndarray]:
    """Outputs and losses of an inference call."""
    outputs = lab.infer(layer, feed)
    return [*outputs, *(np.asarray(keras.ops.convert_to_numpy(x)) for x in layer.losses)]


def blocking(components: Iterable[Component]) -> Iterator[tuple[Component, Function, ast.Call]]:
    """Calls of functions that let no gradient through: the last ones in the source first, casts to integers too."""
    for component in components:
        found = [(f, c) for f, c, target in component.source.calls("call") if _blocks(c, target)]
        yield from ((component, function, call) for function, call in reversed(found))


def _blocks(call: ast.Call, target: Any) -> bool:
    name = getattr(target, "__name__", None) if target is not UNKNOWN else None
    if name is None and isinstance(call.func, ast.Attribute):
        name = call.func.attr
    if name in BLOCKING:
        return True
    return name in ("cast", "astype", "to") and any(
        isinstance(n, ast.Constant | ast.Attribute) and "int" in str(getattr(n, "value", getattr(n, "attr", "")))
        for a in [*call.args[-1:], *(k.value for k in call.keywords)]
        for n in [a]
    )
