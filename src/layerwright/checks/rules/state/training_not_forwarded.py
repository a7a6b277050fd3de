from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.state._training import below, called, is_model, lost, names, takes, top
from layerwright.checks.source import keyword


@rule("LW704", "error")
def training_not_forwarded(lab: Lab) -> Iterator[Finding]:
    """A model doesn't hand `training` on, so that sublayers run in inference mode during `fit`.

    ## What it does
    Calls the model as `fit` does on the running backend, and reports every sublayer that isn't told
    `training=True` though it does something else then (dropout, batch normalization, noise, ...). It also
    looks for a `train_step` that calls the model without `training=True`.

    ## Why is this bad
    `fit` tells a model whether it trains only where its `call` has an argument `training`. Without one, dropout
    is off and batch normalization never moves its statistics, on every backend, and nothing is said. On JAX the
    argument must be passed on to each sublayer as well: `fit` runs `call` itself there, and nothing is inherited.

    ## Example
    ```python
    class Head(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)
            self.dense = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x):
            return self.dense(self.drop(x))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Head(keras.Model):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)
            self.dense = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.dense.build(input_shape)

        def call(self, x, training=None):
            return self.dense(self.drop(x, training=training))

        def compute_output_shape(self, input_shape):
            return self.dense.compute_output_shape(input_shape)
    ```

    ## Source
    Keras issue 20577.
    """
    yield from _in_call(lab)
    yield from _in_train_step(lab)


def _in_call(lab: Lab) -> Iterator[Finding]:
    calls = [call for call, switch in lost(lab) if switch is None]
    if not calls:
        return
    run = lab.in_training.get()
    paths = names(run.layer)
    who = list(dict.fromkeys(called(paths.get(id(c.layer)), c.layer) for c in calls))
    first = top(calls[0], run)
    how = f"pass `training=training` to {called(paths.get(id(first.layer)), first.layer)}."
    if not takes(run.layer):
        how = f"write `training=None` in the signature of `call`, and {how}"
    listed = ", ".join(who[:3]) + (f" and {len(who) - 3} more" if len(who) > 3 else "")
    yield lab.finding(
        f"{listed} run{'s' if len(who) == 1 else ''} in inference mode while `{type(run.layer).__name__}` is trained.",
        expected="training=True during fit",
        got=f"training={calls[0].training!r}",
        fix=how,
        at=first.at or calls[0].at,
    )


def _in_train_step(lab: Lab) -> Iterator[Finding]:
    if not lab.components or not is_model(lab.layer) or not takes(lab.layer):
        return
    source = lab.components[0].source
    bare = [(f, call) for f, call, target in source.calls("train_step") if target is lab.layer and _unsaid(call)]
    if bare and any(c.training and lab.acts(c) for c in below(lab.in_training.get())):
        yield lab.finding(
            f"`{source.cls.__name__}.train_step` calls the model without `training=True`.",
            expected="self(x, training=True)",
            got="self(x)",
            fix="pass `training=True` where `train_step` calls the model.",
            at=bare[0],
        )


def _unsaid(call: ast.Call) -> bool:
    return keyword(call, "training") is None and all(k.arg is not None for k in call.keywords)
