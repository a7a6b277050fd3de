from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW505", "warning", hides=("policy-ignored",))
def child_dtype(lab: Lab) -> Iterator[Finding]:
    """A sublayer follows the global dtype policy instead of its parent's.

    ## What it does
    Constructs the layer with a dtype policy of its own while the global one is another, and looks which of the
    sublayers that it makes itself follow the global policy.

    ## Why is this bad
    `MyLayer(dtype="mixed_bfloat16")` computes in bfloat16 and its sublayers in float32: slower than asked for,
    with a cast at every border, or an error where dtypes may not mix.

    ## Example
    ```python
    class Wrap(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.proj = layers.Dense(4)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Wrap(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 4)
    ```

    ## Known limits
    A sublayer that the caller passed in keeps the caller's policy, and one that is given a policy of its own
    (softmax in float32) keeps that: neither is reported. Models are looked at only where they were made with a
    policy.

    ## Source
    keras-core pull request 805.
    """
    made = lab.made.get()
    if isinstance(made.layer, keras.Model) and made.layer.dtype_policy.name == keras.config.dtype_policy().name:
        raise Skip("models rarely have a dtype policy of their own")
    strays = _strays(lab, "mixed_bfloat16", "mixed_float16")
    if strays:
        component = lab.components[0]
        names = ", ".join(f"`{name}`" for name in strays)
        yield lab.finding(
            f"`{component.name}` makes {names} without its own dtype policy.",
            expected="compute dtype bfloat16 for a layer made with dtype='mixed_bfloat16'",
            got="the global policy",
            fix="pass `dtype=self.dtype_policy` to every sublayer.",
            at=component.source.method("__init__") or component.source.method("build"),
        )


def _strays(lab: Lab, wanted: str, world: str) -> list[str]:
    """Attributes with a sublayer that follows the global policy `world` where its parent has `wanted`."""
    before = keras.config.dtype_policy()
    try:
        keras.config.set_dtype_policy(world)
        attempt = lab.attempt(lambda: _constructed(lab, wanted))
    finally:
        keras.config.set_dtype_policy(before)
    layer, given = attempt.get()
    if layer.dtype_policy.name != wanted:
        raise Skip("the layer doesn't take a dtype policy")
    children = {id(c): c for c in internals.own_layers(layer)}
    named = {id(value): name for name, value in vars(layer).items() if id(value) in children}
    return [
        named.get(id(child), child.name)
        for child in children.values()
        if not _passed_in(child, given) and child.dtype_policy.name == world
    ]


def _passed_in(child: Any, given: list[Any]) -> bool:
    """Whether the caller passed a sublayer in, or one that it was copied from (`Bidirectional` does that)."""
    return any(child is x or type(child) is type(x) for x in given)


def _constructed(lab: Lab, wanted: str) -> tuple[Any, list[Any]]:
    """The layer with its policy, built so that sublayers made in `build` are there, and what was passed in."""
    layer = lab.rebuilt(dtype=wanted)
    arguments: Mapping[str, Any] = lab.last_arguments
    given = [x for value in arguments.values() for x in keras.tree.flatten(value) if isinstance(x, keras.Operation)]
    if lab.called.ok:
        feed = lab.feed.symbolic(lab.subject.batched)
        layer(*feed.args, **feed.kwargs)
    return layer, given
