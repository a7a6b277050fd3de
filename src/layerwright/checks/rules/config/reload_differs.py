from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layerwright.checks.attempt import Failure
from layerwright.checks.feed import close, worst
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.config._saved_parts import last_line


@rule("LW121", "error")
def reload_differs(lab: Lab) -> Iterator[Finding]:
    """A saved and loaded layer computes something else, or can't be saved, loaded or called.

    ## What it does
    Calls the layer, moves its weights a little, saves it inside a subclassed model, loads that, and compares
    the outputs and the number of weights. The finding is withheld where another rule names the cause.

    ## Why is this bad
    The model that is deployed isn't the one that was trained.

    ## Example
    ```python
    class Scale(keras.layers.Layer):
        def __init__(self, by=1.0, **kwargs):
            super().__init__(**kwargs)
            self.by = by

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, x):
            return self.by * self.scale * x

        def save_own_variables(self, store):
            pass

        def load_own_variables(self, store):
            pass
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_reload_differs")
    class Scale(keras.layers.Layer):
        def __init__(self, by=1.0, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.by = by

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return self.by * ops.cast(self.scale, x.dtype) * x

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Known limits
    A layer whose outputs differ between two calls in inference mode can't be compared.

    ## Source
    Keras issue 19501.
    """
    if not lab.called.ok:
        return
    name = type(lab.called.get().layer).__name__
    for failure, what in ((lab.stored.failure, "saved"), (lab.loaded.failure, "loaded"), (lab.saved.failure, "called")):
        if failure is not None:
            yield _failed(lab, name, failure, what)
            return
    saved = lab.saved.get()
    before, after = len(saved.layer.weights), len(saved.loaded.weights)
    if not close(saved.outputs, saved.reloaded):
        yield _differs(lab, name, saved.outputs, saved.reloaded, "")
    elif before != after:
        yield lab.finding(
            f"`{name}` comes back from a file with another number of weights.",
            expected=f"{before} weights, as before",
            got=f"{after} weights",
            fix="make the same weights in `__init__` and `build` as in the first call.",
        )
    elif saved.path == lab.stored.get().path:
        yield from _elsewhere(lab, name, saved.outputs)


def _failed(lab: Lab, name: str, failure: Failure, what: str) -> Finding:
    moment = "be called once it is loaded" if what == "called" else f"be {what}"
    return lab.finding(
        f"`{name}` can't {moment}.",
        expected="a layer that can be saved, loaded and called like the original",
        got=f"{failure.kind}: {last_line(failure)}",
        fix="make everything that `call` needs from the constructor's arguments, the config and the weights.",
        at=failure if failure.at is not None else None,
    )


def _differs(lab: Lab, name: str, before: list[np.ndarray], after: list[np.ndarray], where: str) -> Finding:
    return lab.finding(
        f"`{name}` computes something else after it was saved and loaded{where}.",
        expected="the same outputs for the same inputs",
        got=f"a difference of {worst(before, after):.3g}",
        fix="keep all that the outputs depend on in weights or in the config.",
    )


def _elsewhere(lab: Lab, name: str, outputs: list[np.ndarray]) -> Iterator[Finding]:
    """The same in a fresh process, where one is at hand: it knows neither this one's objects nor its random numbers."""
    found = lab.load_elsewhere(lab) if lab.load_elsewhere is not None else None
    if isinstance(found, str):
        yield lab.finding(
            f"`{name}` can't be loaded in another process.",
            expected="a layer that a new process can load",
            got=found.splitlines()[-1][:160],
            fix="register the class and its functions, and keep nothing that only this process has.",
        )
    elif found is not None and not close(outputs, list(found)):
        yield _differs(lab, name, outputs, list(found), " in another process")
