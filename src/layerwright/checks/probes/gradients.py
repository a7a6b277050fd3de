"""Gradients of a random projection of the outputs, by weight and by input, as a training step sees them."""

from __future__ import annotations

import dataclasses
from functools import cached_property
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Attempt
from layerwright.checks.engines import Step
from layerwright.checks.feed import Feed
from layerwright.checks.probes.saving import Saving, perturb


@dataclasses.dataclass(frozen=True)
class Gradient:
    """The gradients of one step, by trainable weight.

    Attributes:
        layer: The layer after the step's call.
        step: What the framework gave.
    """

    layer: Any
    step: Step

    def by_weight(self) -> list[tuple[Any, np.ndarray | None]]:
        """Each trainable variable with its gradient."""
        return list(zip(self.layer.trainable_variables, self.step.weights, strict=True))


def project(output: int, shape: tuple[int, ...]) -> np.ndarray:
    """Random weights for the elements of an output, the same at every call."""
    return np.random.default_rng(1000 + output).standard_normal(tuple(1 if d is None else d for d in shape))


class Steps:
    """A layer and its training step, compiled once and made at many inputs and weights.

    Every step starts from the layer's variables as they were, moved by its own random amount.
    """

    def __init__(self, bench: Saving, training: bool, compiled: bool) -> None:
        self.layer, self.training = bench.fresh(), training
        self.layer(*bench.feed.args, **bench.feed.kwargs)
        self._initial = [keras.ops.convert_to_numpy(v.value) for v in self.layer.variables]
        kwargs = {**bench.feed.kwargs, "training": training}
        self._run = bench.engine.stepper(self.layer, bench.feed.args, kwargs, project, compiled)

    def __call__(self, feed: Feed, seed: int | None) -> Gradient:
        """One step; `seed` moves the weights, None leaves them at their initial values."""
        for variable, value in zip(self.layer.variables, self._initial, strict=True):
            variable.assign(value)
        if seed is not None:
            perturb(self.layer, seed)
        return Gradient(self.layer, self._run(feed.args, {**feed.kwargs, "training": self.training}))


class Gradients(Saving):
    """Probes that differentiate the layer."""

    @cached_property
    def training_step(self) -> Attempt[Gradient]:
        """A compiled step in training mode with the subject's inputs: what `fit` does."""
        return self.gradient(self.feed, training=True, forgiving=False)

    @cached_property
    def zero_step(self) -> Attempt[Gradient]:
        """A step in inference mode at an input of zeros, with initial weights."""
        return self.gradient(self.feed.zeros(), training=False, seed=None)

    @cached_property
    def random_steps(self) -> list[Attempt[Gradient]]:
        """Steps at several random inputs and weights, in both modes."""
        feeds = [self.feed, self.feed.normal(1), self.feed.normal(2, 3.0)]
        return [self.gradient(f, training=bool(i % 2), seed=i) for i, f in enumerate(feeds)]

    def gradient(
        self, feed: Feed, *, training: bool, seed: int | None = 3, forgiving: bool = True
    ) -> Attempt[Gradient]:
        """One step, compiled; an eager one where that can't be traced and `forgiving` says so.

        Args:
            feed: Inputs of the subject's shapes.
            training: The mode.
            seed: Moves the weights from their initial values (zeros stop gradients); None leaves them.
            forgiving: Whether an eager step will do.
        """
        if not self.called.ok:
            return Attempt(skipped="the layer can't be called")
        attempt = self.attempt(lambda: self._steps(training, True).get()(feed, seed))
        if attempt.ok or not forgiving:
            return attempt
        return self.attempt(lambda: self._steps(training, False).get()(feed, seed))

    def _steps(self, training: bool, compiled: bool) -> Attempt[Steps]:
        known = self._made_steps.get((training, compiled))
        if known is None:
            known = self.attempt(lambda: Steps(self, training, compiled))
            self._made_steps[training, compiled] = known
        return known

    @cached_property
    def _made_steps(self) -> dict[tuple[bool, bool], Attempt[Steps]]:
        return {}
