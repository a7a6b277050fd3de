from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW315", "note")
def positional_non_tensor(lab: Lab) -> Iterator[Finding]:
    """An argument that isn't a tensor is passed by position.

    ## What it does
    Reports a call in which a number, a string or another object that isn't a tensor stands among the positional
    arguments.

    ## Why is this bad
    Keras 3 takes only tensors by position, because it builds and traces the layer for them.

    ## Example
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Window(layers.Layer):
        def call(self, x, steps):
            return x[:, :steps]

        def compute_output_shape(self, input_shape):
            return (input_shape[0], None, *input_shape[2:])
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Window(layers.Layer):
        def __init__(self, steps=3, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.steps = steps

        def call(self, x):
            return ops.cast(x, self.compute_dtype)[:, : self.steps]

        def compute_output_shape(self, input_shape):
            return (input_shape[0], self.steps, *input_shape[2:])

        def get_config(self):
            return {**super().get_config(), "steps": self.steps}
    ```

    ## Source
    Keras issue 18676.
    """
    failure = lab.called.failure
    if failure is None or not failure.mentions("Only input tensors may be passed as positional arguments"):
        return
    component = lab.components[0]
    call = component.source.method("call")
    names = [n for n in call.parameters if n != "self"] if call is not None else []
    wrong = [n for n, value in zip(names, lab.feed.args, strict=False) if not isinstance(value, np.ndarray)]
    yield lab.finding(
        f"`{component.name}` is called with an argument by position that isn't a tensor.",
        expected="only tensors by position",
        got=", ".join(f"`{n}`" for n in wrong) or failure.summary,
        fix=f"pass it by name ({wrong[0]}=...), or make it an argument of the constructor."
        if wrong
        else "pass it by name.",
        at=call,
    )
