from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.attempt import Failure, Frame
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._random import users
from layerwright.checks.source import Function, keyword

SYMPTOMS = ("call-not-traceable", "graph-differs", "no-gradient")


@rule("LW713", "error", backends=("jax",), hides=SYMPTOMS)
def unseeded_random(lab: Lab) -> Iterator[Finding]:
    """`call` draws random numbers without a seed generator, which JAX refuses to trace.

    ## What it does
    Watches every draw from `keras.random` in both modes, and reports one of the user's code without a `seed`.

    ## Why is this bad
    `fit` compiles the step on JAX. Random numbers without a seed would be constants of the compiled step, so
    that Keras raises an error; on TensorFlow and PyTorch the same code runs.

    ## Example
    ```python
    class Jitter(keras.layers.Layer):
        def call(self, x, training=False):
            return x + keras.random.normal(ops.shape(x), dtype=x.dtype) if training else x
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
    places: dict[Frame | Failure | tuple[Function, ast.AST], None] = {
        d.at: None for d in users(lab) if d.seed is None and d.at
    }
    if not places:
        failures = list(lab.failures)
        places = {f: None for f in failures if f.mentions("[JAX RNG]")} or dict.fromkeys(
            _written(lab) if failures else ()
        )
    for at in places:
        yield lab.finding(
            "`call` draws random numbers without a seed generator.",
            expected="seed=self.seed_generator",
            got="no `seed`",
            fix="make `self.seed_generator = keras.random.SeedGenerator(seed)` in `__init__` and pass it as `seed`.",
            at=at,
        )


def _written(lab: Lab) -> Iterator[tuple[Function, ast.AST]]:
    """Draws without a seed in the source, for a layer that can't be called."""
    import keras

    drawing = {id(f) for name, f in vars(keras.random).items() if callable(f) and not isinstance(f, type)}
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            if (
                id(target) in drawing
                and keyword(call, "seed") is None
                and all(k.arg for k in call.keywords)
                and len(call.args) < 3
            ):
                yield function, call
