"""Calls with a mask on the inputs: what comes out, and whether what is masked still counts."""

from __future__ import annotations

import dataclasses
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.feed import Feed, leaves
from layerwright.checks.rules._once import once

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab


@dataclasses.dataclass(frozen=True)
class Masked:
    """A call whose sequence inputs carry a mask that ends one step early.

    Attributes:
        steps: How many steps the inputs have; the last is masked.
        outputs, masks: The outputs, and the mask that travels with each (None where there is none).
    """

    steps: int
    outputs: list[np.ndarray]
    masks: list[np.ndarray | None]


def user_layer(lab: Lab) -> Any:
    """The subject, where its class is the user's own and takes part in masking: not a model, not a cell."""
    layer = lab.called.get().layer
    own = type(layer).__module__.split(".")[0] != "keras"
    if not own or isinstance(layer, keras.Model) or internals.is_cell(layer):
        raise Skip("masks are checked on layers of your own: this is a model, a cell, or one of Keras'")
    return layer


def is_sequence(x: Any) -> bool:
    """Whether an array is a batch of sequences of vectors."""
    return isinstance(x, np.ndarray) and x.ndim >= 3 and x.dtype.kind == "f" and x.shape[1] >= 2


def sequences(feed: Feed) -> list[np.ndarray]:
    """The inputs that can carry a mask."""
    return [x for x in feed.arrays if is_sequence(x)]


def length(feed: Feed) -> int:
    """The number of steps that all sequences share; skips where there is none."""
    sizes = {x.shape[1] for x in sequences(feed)}
    if len(sizes) != 1:
        raise Skip("no input is a batch of sequences" if not sizes else "the sequences differ in length")
    return int(sizes.pop())


def call(layer: Any, feed: Feed) -> list[Any]:
    """Call a layer in inference mode with a mask travelling with every sequence; its outputs as they are."""

    def tensor(x: np.ndarray) -> Any:
        given = keras.ops.convert_to_tensor(x)
        if not is_sequence(x):
            return given
        kept = np.ones(x.shape[:2], bool)
        kept[:, -1] = False
        return internals.with_mask(given, keras.ops.convert_to_tensor(kept))

    masked = feed.map(tensor)
    return leaves(layer(*masked.args, **{**masked.kwargs, "training": False}))


@once
def masked(lab: Lab) -> Attempt[Masked]:
    """A call of the subject with masks on its inputs."""

    def probe() -> Masked:
        layer, steps = user_layer(lab), length(lab.feed)
        return _record(call(layer, lab.feed), steps)

    return lab.attempt(probe)


@once
def shorter(lab: Lab) -> Attempt[Masked]:
    """The same with sequences that are one step shorter, in a fresh layer."""

    def probe() -> Masked:
        user_layer(lab)
        steps = length(lab.feed)
        if steps < 3:
            raise Skip("the sequences are too short")
        return _record(call(lab.fresh(), cut(lab.feed)), steps - 1)

    return lab.attempt(probe)


def cut(feed: Feed) -> Feed:
    """The feed without the last step."""
    return feed.map(lambda x: x[:, :-1] if is_sequence(x) else x)


def _record(outputs: list[Any], steps: int) -> Masked:
    found = [internals.mask_of(y) for y in outputs]
    masks = [None if m is None else np.asarray(keras.ops.convert_to_numpy(m)) for m in found]
    return Masked(steps, [np.asarray(keras.ops.convert_to_numpy(y)) for y in outputs], masks)


def stirred(feed: Feed) -> Feed:
    """The feed with other values at the masked step."""
    rng = np.random.default_rng(11)

    def change(x: np.ndarray) -> np.ndarray:
        if not is_sequence(x):
            return x
        other = x.copy()
        other[:, -1] = x[:, -1] + 3.0 + rng.standard_normal(x[:, -1].shape)
        return other.astype(x.dtype)

    return feed.map(change)


def keeps_time(y: np.ndarray, lab: Lab, steps: int) -> bool:
    """Whether an output still has the batch and the time axis."""
    rows = lab.feed.rows
    return y.ndim >= 2 and y.shape[1] == steps and (rows is None or y.shape[0] == rows)
