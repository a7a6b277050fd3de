"""What the rules on randomness share: every draw from `keras.random`, with its seed and its line."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import TYPE_CHECKING, Any

import keras

from layerwright.checks.probes.modes import Draw, Ran

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab

SAMPLING = re.compile(
    r"sampl|reparam|latent|variational|vae|gumbel|diffus|bayes|monte_?carlo|generat|dream", re.IGNORECASE
)


def runs(lab: Lab) -> Iterator[Ran]:
    """The calls in both modes, as far as they work."""
    for attempt in (lab.in_inference, lab.in_training):
        if attempt.value is not None:
            yield attempt.value


def users(lab: Lab) -> list[Draw]:
    """The draws that the user's own code makes, not one of Keras' layers; each line once."""
    found: dict[Any, Draw] = {}
    for run in runs(lab):
        for draw in run.draws:
            layer = draw.call.layer if draw.call is not None else run.layer
            if draw.at is not None and not is_keras(layer):
                found.setdefault((draw.at, type(draw.seed)), draw)
    return list(found.values())


def is_keras(layer: Any) -> bool:
    """Whether the class of a layer is one of Keras' own."""
    return type(layer).__module__.split(".")[0] == "keras"


def is_generator(seed: Any) -> bool:
    """Whether a seed is a `SeedGenerator`."""
    return isinstance(seed, keras.random.SeedGenerator)
