from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.facts import means_training
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import Function


@rule("LW702", "error", hides=("training-not-forwarded", "training-hardcoded"))
def training_arg_name(lab: Lab) -> Iterator[Finding]:
    """The training flag of `call` has a name that Keras doesn't fill.

    ## What it does
    Looks for an optional argument of `call` that is meant as the training flag but isn't called `training`.

    ## Why is this bad
    `fit`, `evaluate` and `predict` fill an argument named `training` and no other. This one keeps its default
    for ever: what should happen in training never happens, or always does.

    ## Example
    ```python
    class Noisy(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.noise = layers.GaussianNoise(0.1, dtype=self.dtype_policy)

        def call(self, x, is_training=False):
            return self.noise(x, training=is_training)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Noisy(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.noise = layers.GaussianNoise(0.1, dtype=self.dtype_policy)

        def call(self, x, training=False):
            return self.noise(x, training=training)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    An argument that the caller fills by hand is left alone, where a call is seen that does.

    ## Source
    The Keras guide on making new layers: the privileged `training` argument of `call`.
    """
    for component in lab.components:
        call = component.source.method("call")
        if call is None or "training" in call.parameters:
            continue
        for name in _optional(call):
            if means_training(name) and _read(call, name) and not _filled(lab, component, name):
                yield lab.finding(
                    f"`{component.name}.call` names its training flag `{name}`, which Keras never fills.",
                    expected="an argument `training`",
                    got=", ".join(call.parameters[1:]),
                    fix=f"rename `{name}` to `training`.",
                    at=call,
                )


def _optional(call: Function) -> list[str]:
    arguments = call.node.args
    positional = [*arguments.posonlyargs, *arguments.args]
    optional = positional[len(positional) - len(arguments.defaults) :] if arguments.defaults else []
    return [p.arg for p in [*optional, *arguments.kwonlyargs]]


def _read(call: Function, name: str) -> bool:
    return any(getattr(node, "id", None) == name for node in call.walk())


def _filled(lab: Lab, component: Component, name: str) -> bool:
    if component.path == "self":
        return name in lab.feed.kwargs
    run = lab.in_inference.value
    calls = run.calls if run is not None else ()
    return any(name in c.keywords for c in calls if type(c.layer) is type(component.layer))
