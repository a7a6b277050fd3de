from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._random import is_generator, runs, users


@rule("LW716", "error", backends=("jax",), hides=("constant-seed", "graph-differs"))
def unattached_seed_generator(lab: Lab) -> Iterator[Finding]:
    """`call` draws from a seed generator that isn't an attribute of the layer.

    ## What it does
    Watches every draw from `keras.random` and looks for its generator's state among the layer's variables.

    ## Why is this bad
    On JAX a compiled step hands back the variables that belong to the model, and drops all other changes. The
    state of a generator in the module, or in a helper object, is never advanced: every step draws the same.

    ## Example
    ```python
    class Source:
        def __init__(self):
            self.generator = keras.random.SeedGenerator(1)


    class Jitter(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.source = Source()

        def call(self, x, training=False):
            return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.source.generator) if training else x
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
    The documentation of `keras.random.SeedGenerator`: a generator is attached to the layer that uses it.
    """
    attached = {id(v) for run in runs(lab) for v in run.layer.variables}
    made_before = {id(v) for v in (lab.called.value.layer.variables if lab.called.value else ())}
    for draw in users(lab):
        if not is_generator(draw.seed) or id(draw.seed.state) in attached | made_before:
            continue
        if _made_in_call(lab, draw.seed):
            continue
        yield lab.finding(
            "`call` draws from a seed generator that Keras doesn't know of, so that a compiled step never advances it.",
            expected="a SeedGenerator that is an attribute of the layer",
            got="one that is in none of the layer's variables",
            fix="write `self.seed_generator = keras.random.SeedGenerator(seed)` in `__init__`.",
            at=draw.at,
        )


def _made_in_call(lab: Lab, generator: object) -> bool:
    """Whether the generator is a new one in each call: that is another fault, `state-in-call`."""
    used = [draw for run in runs(lab) for draw in run.draws if is_generator(draw.seed)]
    return len({id(draw.seed) for draw in used}) > 1 and sum(draw.seed is generator for draw in used) < len(
        list(runs(lab))
    )
