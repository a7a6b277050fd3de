"""What the checks need of a framework; with the bridges of the kernels, the only files that name one."""

from __future__ import annotations

import dataclasses
import importlib
from collections.abc import Callable, Iterable, Mapping
from contextlib import AbstractContextManager
from typing import Any, Protocol, cast

import numpy as np


@dataclasses.dataclass(frozen=True)
class Step:
    """One forward and backward pass, the way `fit` makes it (compiled on TensorFlow and JAX).

    Attributes:
        outputs: The layer's outputs as a flat list of arrays.
        losses: The sum of the losses that the layer added.
        weights: For each trainable weight, by its place in `layer.trainable_variables`: the gradient of a
            random projection of the outputs, or None where there is none.
        inputs: The same for each floating input.
        state: The values of the non-trainable variables afterwards.
    """

    outputs: list[np.ndarray]
    losses: float
    weights: list[np.ndarray | None]
    inputs: list[np.ndarray | None]
    state: list[np.ndarray]


Project = Callable[[int, tuple[int, ...]], np.ndarray]
Stepper = Callable[[Any, Any], Step]


class Engine(Protocol):
    """One framework, as the checks see it."""

    name: str

    def seed(self, seed: int) -> None:
        """Seed the framework's own random numbers."""

    def kept(self) -> AbstractContextManager[None]:
        """Leave the framework's own random numbers as they were, and its advice on performance unsaid."""

    def stepper(self, layer: Any, args: Any, kwargs: Any, project: Project, compiled: bool = True) -> Stepper:
        """A function that calls the layer and differentiates, for arguments of these shapes; compiled at most once.

        It reads the layer's variables at every call. `project(i, shape)` weighs the elements of output i.
        """

    def compiled(self, layer: Any, args: Any, kwargs: Any) -> list[np.ndarray] | None:
        """The outputs of a compiled call with an open batch; None where the framework compiles nothing."""

    def is_tensor(self, value: Any) -> bool:
        """Whether a value is a tensor of this framework, concrete or traced."""

    def is_traced(self, value: Any) -> bool:
        """Whether a value stands for a tensor in a trace or graph, without a value of its own."""

    def is_variable(self, value: Any) -> bool:
        """Whether a value is the framework's own trainable variable (not a Keras one)."""

    def state_types(self) -> tuple[type, ...]:
        """The framework's own classes whose instances hold state: variables, parameters, modules."""

    def registered(self, layer: Any) -> Mapping[str, Any]:
        """What the framework keeps of a layer's attributes elsewhere than in `vars(layer)`."""

    def host_functions(self) -> Iterable[Any]:
        """The framework's functions that call back into Python."""

    def gradient_makers(self) -> Iterable[Any]:
        """The framework's ways to write a gradient by hand."""


def current() -> Engine:
    """The engine of the backend on which Keras runs in this process."""
    import keras

    module = importlib.import_module(f"layerwright.checks.engines.{keras.backend.backend()}")
    return cast(Engine, module.ENGINE)
