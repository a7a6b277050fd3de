from __future__ import annotations

import ast
import re
from collections.abc import Iterator

from layerwright.checks.feed import worst
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._random import SAMPLING, is_keras
from layerwright.checks.rules.state._training import samples
from layerwright.checks.source import Function, text_of
from layerwright.checks.walk import children


@rule("LW710", "error", hides=("reload-differs", "graph-differs", "batch-dependence"))
def inference_random(lab: Lab) -> Iterator[Finding]:
    """Two calls in inference mode give different outputs.

    ## What it does
    Calls the layer twice with `training=False` and the same inputs, and names the line that draws.

    ## Why is this bad
    Noise is for training. A model that answers the same question differently each time can't be tested, and
    is worse than it could be.

    ## Example
    ```python
    class Jitter(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.seed_generator = keras.random.SeedGenerator(0)

        def call(self, x):
            return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator)
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

    ## Known limits
    A layer that samples on purpose says so by its name (`Sampling`, `Reparameterize`, `Gumbel...`, `MCDropout`, ...).

    ## Source
    The Keras guide on making new layers: `training` in `call`.
    """
    if not lab.inferred.ok or lab.inference_is_steady:
        return
    run = lab.in_inference.get()
    carried = run.changed or any(getattr(x, "stateful", False) for _, x in [("", run.layer), *children(run.layer)])
    if carried and not run.draws:
        return  # state that goes from call to call, not chance
    draws = [d for d in run.draws if d.at is not None]
    who = [d.call.layer for d in draws if d.call is not None and not is_keras(d.call.layer)] or [run.layer]
    if all(SAMPLING.search(type(layer).__name__) or samples(layer) for layer in who) or _purposeful(run.layer):
        return
    second = lab.attempt(lambda: lab.infer(lab.called.get().layer))
    yield lab.finding(
        f"`{type(run.layer).__name__}` gives different outputs for the same inputs in inference mode.",
        expected="equal outputs with training=False",
        got=f"outputs that differ by {worst(lab.inferred.get(), second.get()):.2g}" if second.ok else "other outputs",
        fix="take `training=None` as an argument of `call`, and draw only `if training`.",
        at=draws[0].at if draws else _written(lab),
    )


def _written(lab: Lab) -> tuple[Function, ast.AST] | None:
    """Where `call` draws with a function of the framework."""
    for component in lab.components:
        for function, call, target in component.source.calls("call"):
            named = f"{getattr(target, '__module__', '')}.{getattr(target, '__name__', '')} {text_of(call.func)}"
            if re.search(r"rand|dropout|noise|bernoulli|multinomial|shuffle", named, re.IGNORECASE):
                return function, call
    return None


def _purposeful(layer: object) -> bool:
    return bool(SAMPLING.search(type(layer).__name__)) or samples(layer)
