from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW311", "error", hides=("batch-dependence", "output-shape-mismatch", "static-batch"))
def batch_axis_dropped(lab: Lab) -> Iterator[Finding]:
    """The output loses the batch axis.

    ## What it does
    Calls the layer in inference mode with a batch, and with a single row; every output must have one row for each
    row of the input, and the same rank.

    ## Why is this bad
    `fit`, `predict` and the loss take axis 0 for the batch. A `squeeze` without an axis works until a batch of one comes, the last one of an epoch.

    ## Example
    ```python
    class Score(layers.Layer):
        def call(self, x):
            return ops.squeeze(ops.sum(x, axis=-1, keepdims=True))
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Score(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.squeeze(ops.sum(x, axis=-1, keepdims=True), axis=-1)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape[:-1])
    ```

    ## Source
    Keras issue 15066 (family).
    """
    size, layer = lab.need_batch(), lab.called.get().layer
    whole = lab.inferred.get()
    alone = lab.attempt(lambda: lab.infer(layer, lab.feed.select(slice(0, 1))))
    if not alone.ok or not whole:
        return
    bad = [
        (w.shape, a.shape)
        for w, a in zip(whole, alone.get(), strict=False)
        if w.shape[:1] == (size,) and a.shape != (1, *w.shape[1:])
    ]
    gone = [
        (w.shape, a.shape)
        for w, a in zip(whole, alone.get(), strict=False)
        if w.ndim and w.shape[:1] != (size,) and w.shape == a.shape
    ]
    for shape, single in bad[:1] + gone[:1]:
        component = lab.components[0]
        yield lab.finding(
            f"`{component.name}` drops the batch axis of its output.",
            expected=f"({size}, ...) for {size} rows and (1, ...) for one",
            got=f"{shape} for {size} rows and {single} for one",
            fix="leave axis 0 as it comes: name the axis in `squeeze`, reduce over every axis but 0, and let `reshape` infer it (`-1`).",
            at=component.source.method("call"),
        )
