"""Symbolic and compiled calls: shapes with an open batch, and what can't be traced and why."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Attempt, Failure, Skip
from layerwright.checks.feed import leaves
from layerwright.checks.probes.calls import Calls


@dataclasses.dataclass(frozen=True)
class Symbolic:
    """A fresh layer after a call on Keras tensors, and the Keras tensors that came out."""

    layer: Any
    outputs: list[Any]


class Traces(Calls):
    """Probes that trace the layer."""

    @cached_property
    def symbolic(self) -> Attempt[Symbolic]:
        """A call on Keras tensors with an open batch, as in a functional model."""
        return self.attempt(self._symbolic)

    @cached_property
    def symbolic_fixed(self) -> Attempt[Symbolic]:
        """The same with a batch of known size."""
        return self.attempt(lambda: self._symbolic(batch=False))

    @cached_property
    def symbolic_open(self) -> Attempt[Symbolic]:
        """The same with an open second axis too, for inputs of rank 3 and more."""
        if not any(x.ndim >= 3 for x in self.feed.arrays):
            return Attempt(skipped="no input has a time axis")
        return self.attempt(lambda: self._symbolic(axes=(1,)))

    def _symbolic(self, batch: bool = True, axes: tuple[int, ...] = ()) -> Symbolic:
        layer = self.fresh()
        feed = self.feed.symbolic(batch and self.subject.batched, axes)
        return Symbolic(layer, leaves(layer(*feed.args, **feed.kwargs)))

    @cached_property
    def inner_symbolic(self) -> Attempt[list[Any]]:
        """`call` itself on Keras tensors with an open batch, whatever `compute_output_shape` says instead."""

        def probe() -> list[Any]:
            layer, feed = self.fresh(), self.feed.symbolic(self.subject.batched)
            layer(*self.feed.args, **self.feed.kwargs)
            return leaves(keras.Operation.compute_output_spec(layer, *feed.args, **feed.kwargs))

        return self.attempt(probe)

    @cached_property
    def compiled(self) -> Attempt[list[np.ndarray]]:
        """The outputs of the called layer in a compiled call, in inference mode."""

        def probe() -> list[np.ndarray]:
            layer = self.called.get().layer
            outputs = self.engine.compiled(layer, self.feed.args, {**self.feed.kwargs, "training": False})
            if outputs is None:
                raise Skip(f"{self.engine.name} compiles nothing by itself")
            return outputs

        return self.attempt(probe)

    @cached_property
    def trace_failure(self) -> Failure | None:
        """The failure of the first trace that fails while the eager call works; None where all work."""
        if not self.called.ok or self.called.get().raw is None:
            return None
        for probe in (self.symbolic, self.inner_symbolic, self.compiled):
            if probe.failure is not None:
                return probe.failure
        return None
