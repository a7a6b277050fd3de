from __future__ import annotations

import ast
import random
from collections.abc import Iterator
from typing import Any

import numpy as np

from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import UNKNOWN, Function, text_of

GENERATORS = (np.random.RandomState, np.random.Generator, random.Random)
SYMPTOMS = ("numpy-in-call", "inference-random", "graph-differs", "batch-dependence", "python-branch-on-tensor")


@rule("LW715", "error", hides=SYMPTOMS)
def host_random_in_call(lab: Lab) -> Iterator[Finding]:
    """`call` takes random numbers from NumPy or from Python's `random`.

    ## What it does
    Looks for calls of NumPy's and Python's random functions, and of their generators, that `call` reaches.

    ## Why is this bad
    On TensorFlow and JAX they are drawn once, while the step is traced: what looks random is a constant of the
    compiled step. On every backend they ignore the seed that Keras was given.

    ## Example
    ```python
    class Jitter(keras.layers.Layer):
        def call(self, x, training=False):
            return x + float(np.random.normal()) if training else x
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Jitter(keras.layers.Layer):
        def __init__(self, seed=None, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.seed = seed
            self.seed_generator = keras.random.SeedGenerator(seed)

        def call(self, x, training=False):
            return x + keras.random.normal((), dtype=x.dtype, seed=self.seed_generator) if training else x

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "seed": self.seed}
    ```

    ## Source
    The Keras guide on random numbers: "Randomness in Keras".
    """
    seen = set()
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            if not _random(target if target is not UNKNOWN else _method(function, call, component)):
                continue
            if (function.path, call.lineno) in seen:
                continue
            seen.add((function.path, call.lineno))
            yield lab.finding(
                f"`call` draws from `{text_of(call.func)}`, once while the step is traced and never again.",
                expected="keras.random with a SeedGenerator",
                got=text_of(call),
                fix="draw with `keras.random` and a `keras.random.SeedGenerator` made in `__init__`.",
                at=(function, call),
            )


def _method(function: Function, call: ast.Call, component: Component) -> Any:
    """The bound method of a generator that the layer or the module holds, such as `self.rng.normal`."""
    if isinstance(call.func, ast.Attribute):
        owner = function.resolve(call.func.value, component.layer)
        if isinstance(owner, GENERATORS):
            return getattr(owner, call.func.attr, UNKNOWN)
    return UNKNOWN


def _random(target: Any) -> bool:
    if target is UNKNOWN:
        return False
    if isinstance(getattr(target, "__self__", None), GENERATORS) or target is np.random.default_rng:
        return True
    return isinstance(target, type) and issubclass(target, GENERATORS)
