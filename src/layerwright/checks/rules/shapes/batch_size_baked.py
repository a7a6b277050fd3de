from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.attempt import Skip
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause


@rule("LW313", "error", hides=("static-batch", "batch-axis-dropped", "call-not-traceable"))
def batch_size_baked(lab: Lab) -> Iterator[Finding]:
    """The layer works only with the batch size that it saw first.

    ## What it does
    Calls the layer again with another number of rows.

    ## Why is this bad
    The last batch of an epoch is smaller, and `predict` uses another size than `fit`.

    ## Example
    ```python
    class AddNoise(layers.Layer):
        def build(self, input_shape):
            self.shift = self.add_weight(shape=input_shape, name="shift")

        def call(self, x):
            return x + self.shift
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class AddNoise(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.shift = self.add_weight(shape=input_shape[1:], name="shift")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + self.shift

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    Keras issue 15066 (family).
    """
    found = cause(lab)
    if found is not None and found.rule == "batch-size-baked":
        yield lab.finding(
            f"`{found.component.name}.build()` needs the size of the batch.",
            expected="weights that don't depend on `input_shape[0]`, which is None for an open batch",
            got=found.failure.summary,
            fix="leave axis 0 out of the shapes of weights (`input_shape[1:]`).",
            at=found.at,
        )
        return
    size, layer = lab.need_batch(), lab.called.get().layer
    lab.inferred.get()
    feed = lab.feed.select([*range(size), 0]).symbolic(batch=False)
    other = lab.attempt(lambda: keras.Operation.compute_output_spec(layer, *feed.args, **feed.kwargs))
    if other.failure is not None and (lab.trace_failure is not None or not lab.symbolic_fixed.ok):
        raise Skip("the layer can't be traced at all")
    if other.failure is not None:
        component = lab.components[0]
        yield lab.finding(
            f"`{component.name}`, called with {size} rows first, fails with {size + 1}.",
            expected="any number of rows",
            got=other.failure.summary,
            fix="keep the size of the batch out of weights, attributes and constants.",
            at=other.failure,
        )
