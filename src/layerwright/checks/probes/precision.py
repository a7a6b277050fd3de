"""The layer under other dtype policies."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Attempt, Skip
from layerwright.checks.feed import Feed, leaves
from layerwright.checks.probes.gradients import Gradients


@dataclasses.dataclass(frozen=True)
class InPolicy:
    """A call under a dtype policy.

    Attributes:
        outputs: As arrays.
        dtypes: Of the outputs, as Keras names them.
    """

    layer: Any
    outputs: list[np.ndarray]
    dtypes: list[str]


class Precision(Gradients):
    """Probes under mixed precision."""

    def in_policy(self, policy: str, feed: Feed | None = None, training: bool = False) -> Attempt[InPolicy]:
        """An eager call of a fresh layer under a policy, with weights equal to those of a float32 layer."""

        def probe() -> InPolicy:
            layer = self.under(policy)
            given = self.feed if feed is None else feed
            raw = layer(*given.args, **{**given.kwargs, "training": training})
            dtypes = [keras.backend.standardize_dtype(y.dtype) for y in leaves(raw)]
            outputs = [np.asarray(keras.ops.convert_to_numpy(y)) for y in leaves(raw)]
            return InPolicy(layer, outputs, dtypes)

        if not self.called.ok:
            return Attempt(skipped="the layer can't be called in its own dtype policy")
        return self.attempt(probe)

    def under(self, policy: str) -> Any:
        """A fresh layer with this dtype policy: given globally, or to the constructor where it has one of its own."""
        before = keras.config.dtype_policy()
        try:
            keras.config.set_dtype_policy(policy)
            layer = self.fresh()
            if layer.dtype_policy.name != policy:
                layer = self.rebuilt(dtype=policy)
        finally:
            keras.config.set_dtype_policy(before)
        if layer.dtype_policy.name != policy:
            raise Skip(f"the layer doesn't take the policy {policy}")
        return layer

    @cached_property
    def float16(self) -> Attempt[InPolicy]:
        """A call under `mixed_float16` in inference mode."""
        return self.in_policy("mixed_float16")

    @cached_property
    def float16_training(self) -> Attempt[InPolicy]:
        """A call under `mixed_float16` in training mode."""
        return self.in_policy("mixed_float16", training=True)

    @cached_property
    def bfloat16(self) -> Attempt[InPolicy]:
        """A call under `mixed_bfloat16` in inference mode."""
        return self.in_policy("mixed_bfloat16")
