"""Whether a weight has any influence: it is changed strongly, and everything that a call gives is compared bit by bit."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterable
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.feed import Feed, arrays
from layerwright.checks.lab import Lab
from layerwright.checks.probes.bench import SEED
from layerwright.checks.rules._once import once

DRAWS = 2


@dataclasses.dataclass
class Influence:
    """A called layer on which weights can be tried out.

    Attributes:
        layer: The layer; its values are put back after each trial.
        modes: The calls that are compared: inputs, the mode, and what they gave before any change.
    """

    layer: Any
    modes: list[tuple[Feed, bool, list[np.ndarray]]]

    def of(self, variables: Iterable[Any]) -> bool:
        """Whether outputs, losses or state of any call change with these variables."""
        variables = list(variables)
        kept = _values(self.layer)
        own = {id(v) for v in variables}
        for draw in range(DRAWS):
            for feed, training, before in self.modes:
                _restore(self.layer, kept)
                for place, variable in enumerate(variables):
                    variable.assign(_other(kept[id(variable)], 100 * draw + place))
                try:
                    after = _outcome(self.layer, feed, training, own)
                except Exception:
                    return True  # a strange value is refused: then it is looked at
                finally:
                    _restore(self.layer, kept)
                if not _equal(_without(before, own, self.layer), after):
                    return True
        return False


@once
def influence(lab: Lab) -> Influence | None:
    """The subject, called once; None where no call repeats itself, so that nothing can be compared."""
    if not lab.called.ok or lab.called.get().raw is None:
        return None
    return lab.attempt(lambda: _prepare(lab)).value


def _prepare(lab: Lab) -> Influence:
    layer = lab.fresh()
    layer(*lab.feed.args, **lab.feed.kwargs)
    kept = _values(layer)
    modes = []
    for feed, training in (
        (lab.feed.normal(5), False),
        (lab.feed.normal(6), True),
        (lab.feed, True),
        (lab.feed.zeros(), False),
    ):
        both = []
        for _ in range(2):
            both.append(lab.attempt(lambda f=feed, t=training: _outcome(layer, f, t, set())).value)  # type: ignore[misc]
            _restore(layer, kept)
        if both[0] is not None and both[1] is not None and _equal(both[0], both[1]):
            modes.append((feed, training, both[0]))
    return Influence(layer, modes)


def _outcome(layer: Any, feed: Feed, training: bool, left_out: set[int]) -> list[np.ndarray]:
    internals.seed_everything(SEED)
    outputs = arrays(layer(*feed.args, **{**feed.kwargs, "training": training}))
    losses = [np.asarray(keras.ops.convert_to_numpy(loss)) for loss in layer.losses]
    state = [keras.ops.convert_to_numpy(v.value) for v in layer.non_trainable_variables if id(v) not in left_out]
    return [*outputs, *losses, *state]


def _without(before: list[np.ndarray], left_out: set[int], layer: Any) -> list[np.ndarray]:
    """What was seen before, less the state that is changed on purpose."""
    state = layer.non_trainable_variables
    head = before[: len(before) - len(state)]
    return [*head, *(value for value, v in zip(before[len(head) :], state, strict=True) if id(v) not in left_out)]


def _values(layer: Any) -> dict[int, np.ndarray]:
    return {id(v): np.array(keras.ops.convert_to_numpy(v.value)) for v in layer.variables}


def _restore(layer: Any, values: dict[int, np.ndarray]) -> None:
    for variable in layer.variables:
        if id(variable) in values:
            variable.assign(values[id(variable)])


def _other(value: np.ndarray, seed: int) -> np.ndarray:
    rng = np.random.default_rng(seed)
    if value.dtype.kind in "iu":
        return (value + rng.integers(1, 4, value.shape)).astype(value.dtype)
    if value.dtype.kind == "b":
        return ~value
    noise = 3.0 * rng.standard_normal(value.shape)
    return (np.asarray(value, "float32") + noise + np.sign(noise)).astype(value.dtype)


def _equal(one: list[np.ndarray], other: list[np.ndarray]) -> bool:
    return len(one) == len(other) and all(
        a.shape == b.shape and np.array_equal(a, b, equal_nan=a.dtype.kind not in "OSUbiu")
        for a, b in zip(one, other, strict=True)
    )
