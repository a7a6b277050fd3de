from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.probes.modes import LayerCall, is_seed
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._training import ancestors, below, called, names, said, samples, top
from layerwright.checks.source import constant, keyword

SYMPTOMS = ("batch-dependence", "update-at-inference", "inference-random", "reload-differs", "graph-differs")


@rule("LW701", "error", hides=SYMPTOMS)
def training_hardcoded(lab: Lab) -> Iterator[Finding]:
    """A sublayer is always called with `training=True`.

    ## What it does
    Calls the layer as `predict` does and looks at what its sublayers are told. One that is told `training=True`
    all the same, and that does something else then, is reported. So is a dropout that is never told anything
    but `training=False`: it does nothing, ever.

    ## Why is this bad
    In inference, dropout goes on dropping and batch normalization takes the statistics of the batch at hand, so
    that the prediction for one row depends on the rows beside it, and its moving averages drift.

    ## Example
    ```python
    class Normed(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.norm.build(input_shape)

        def call(self, x):
            return self.norm(x, training=True)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Normed(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.norm.build(input_shape)

        def call(self, x, training=None, mask=None):
            return self.norm(x, training=training, mask=mask)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    A layer whose name says that it samples on purpose (`MCDropout`, `MonteCarlo...`, `Bayesian...`) may keep its
    dropout on. `training=False` is how a normalization is frozen, and is left alone.

    ## Source
    TensorFlow issue 36936.
    """
    run = lab.in_inference.get()
    paths = names(run.layer)
    for call in below(run):
        if call.at is None or not _told(call) or any(_told(a) for a in ancestors(call) if a.layer is not run.layer):
            continue
        caller = call.parent.layer if call.parent is not None else run.layer
        if samples(caller) or samples(run.layer) or not lab.acts(call):
            continue
        yield lab.finding(
            f"{called(paths.get(id(call.layer)), call.layer)} is called with `training=True` in inference too.",
            expected="training=False in inference",
            got=f"training={call.given!r}",
            fix="take `training=None` as an argument of `call` and pass `training=training` on.",
            at=call.at,
        )
    yield from _never(lab, paths)


def _told(call: LayerCall) -> bool:
    return said(call) and isinstance(call.given, bool | int) and bool(call.given)


def _never(lab: Lab, paths: dict[int, str]) -> Iterator[Finding]:
    run = lab.in_training.get()
    for call in below(run):
        others = [c for c in run.calls if c.layer is call.layer and c is not call]
        if call.given is not False or top(call, run) is not call or any(c.training for c in others):
            continue
        if _is_noise(call) and _literally_false(lab, call) and lab.acts(call):
            yield lab.finding(
                f"{called(paths.get(id(call.layer)), call.layer)} is only ever called with `training=False`, so that it "
                "does nothing.",
                expected="training=True while training",
                got="training=False",
                fix="pass `training=training` on, or leave the sublayer out.",
                at=call.at,
                severity="warning",
            )


def _is_noise(call: LayerCall) -> bool:
    return bool(call.layer.variables) and all(is_seed(v) for v in call.layer.variables)


def _literally_false(lab: Lab, call: LayerCall) -> bool:
    nodes = (
        node
        for component in lab.components
        for function in component.source.reachable("call")
        for node in function.calls()
        if call.at is not None
        and function.path == call.at.path
        and node.lineno <= call.at.line <= (node.end_lineno or 0)
    )
    return any(isinstance(node, ast.Call) and constant(keyword(node, "training")) is False for node in nodes)
