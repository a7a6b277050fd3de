from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from layerwright.checks.feed import close
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._random import users
from layerwright.checks.source import UNKNOWN, Function, constant, text_of

RESEEDING = {"set_random_seed", "set_seed", "manual_seed"}
KEYS = {"key", "PRNGKey"}
FRAMEWORKS = ("keras", "tensorflow", "jax", "torch")


@rule("LW714", "error")
def constant_seed(lab: Lab) -> Iterator[Finding]:
    """`call` draws with a fixed seed: the same numbers in every call and every step.

    ## What it does
    Watches the seeds of every draw from `keras.random`, and looks in the source for keys and generators that
    are seeded with a constant inside `call`.

    ## Why is this bad
    An integer seed gives the same numbers each time. Noise that never changes is a constant that the model
    learns; a dropout with a fixed seed removes the same units for ever.

    ## Example
    ```python
    class Jitter(keras.layers.Layer):
        def call(self, x, training=False):
            return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=1337) if training else x
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
            return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator) if training else x

        def compute_output_shape(self, input_shape):
            return input_shape

        def get_config(self):
            return {**super().get_config(), "seed": self.seed}
    ```

    ## Source
    keras-core issue 650.
    """
    found = False
    for draw in users(lab):
        if isinstance(draw.seed, int):
            found = True
            yield lab.finding(
                "`call` draws random numbers with a fixed seed, the same ones in every call.",
                expected="a SeedGenerator",
                got=f"seed={draw.seed!r}",
                fix="make `self.seed_generator = keras.random.SeedGenerator(seed)` in `__init__` and pass it as `seed`.",
                at=draw.at,
            )
    if found:
        return
    for component in lab.components:
        for at, text in _constants(component):
            if _repeats(lab):
                yield lab.finding(
                    f"`{text}` in `call` gives the same random numbers in every call.",
                    expected="a seed that changes from call to call",
                    got=text,
                    fix="draw with `keras.random` and a `keras.random.SeedGenerator` made in `__init__`.",
                    at=at,
                )


def _constants(component: Component) -> Iterator[tuple[tuple[Function, ast.AST], str]]:
    for function, call, target in component.source.calls("call"):
        name, module = getattr(target, "__name__", ""), (getattr(target, "__module__", None) or "").split(".")[0]
        if isinstance(call.func, ast.Attribute) and call.func.attr == "manual_seed":
            name, module = "manual_seed", "torch"
        if module not in FRAMEWORKS:
            continue
        given = [*call.args, *(k.value for k in call.keywords)]
        seeds = [k.value for k in call.keywords if k.arg == "seed"]
        if (
            name in RESEEDING
            or (name in KEYS and given and all(_fixed(function, a, component) for a in given))
            or (name.startswith("stateless_") and seeds and _fixed(function, seeds[0], component))
        ):
            yield (function, call), text_of(call)


def _fixed(function: Function, node: ast.expr, component: Component) -> bool:
    value: Any = constant(node)
    if value is UNKNOWN:
        value = function.resolve(node, component.layer)
    return isinstance(value, int | list | tuple)


def _repeats(lab: Lab) -> bool:
    """Whether two training calls are equal; unknown counts as yes."""
    first, second = lab.in_training, lab.in_training_again
    return not (first.ok and second.ok) or close(first.get().outputs, second.get().outputs, 1e-6)
