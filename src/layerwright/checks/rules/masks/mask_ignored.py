from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Any

import numpy as np

from layerwright.checks.feed import Feed, arrays, close, gap, magnitude
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.masks._masked import call, keeps_time, length, stirred, user_layer


@rule("LW602", "warning")
def mask_ignored(lab: Lab) -> Iterator[Finding]:
    """The layer takes part in masking, and what is masked changes its output all the same.

    ## What it does
    Calls a layer that takes a `mask`, or that sets `supports_masking`, with the last step masked; then changes
    the values at that step. Outputs at steps that are kept, and outputs without a time axis, must stay.

    ## Why is this bad
    Padding counts as data: the mean of a short sequence depends on how much padding stands behind it, and so on
    the longest sequence of its batch.

    ## Example
    ```python
    class MeanPool(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x, mask=None):
            return ops.mean(x, axis=1)

        def compute_mask(self, inputs, mask=None):
            return None
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class MeanPool(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x, mask=None):
            if mask is None:
                return ops.mean(x, axis=1)
            keep = ops.expand_dims(ops.cast(mask, x.dtype), -1)
            return ops.sum(x * keep, axis=1) / ops.maximum(ops.sum(keep, axis=1), 1.0)

        def compute_mask(self, inputs, mask=None):
            return None

        def compute_output_shape(self, input_shape):
            return (input_shape[0], *input_shape[2:])
    ```

    ## Known limits
    Only masks over the second axis are tried, of inputs with three axes or more.

    ## Source
    TensorFlow issue 33260, Keras issue 15510.
    """
    layer = user_layer(lab)
    written = lab.components[0].source.method("call")
    takes = written is not None and any(p == "mask" or p.endswith("_mask") for p in written.parameters)
    if not (takes or layer.supports_masking):
        return
    steps = length(lab.feed)
    if not lab.inference_is_steady:
        return
    feed = lab.varied
    first, second = (lab.attempt(partial(_outputs, layer, f)).get() for f in (feed, stirred(feed)))
    for before, after in zip(first, second, strict=True):
        timed = keeps_time(before, lab, steps) and before.ndim >= 3
        a, b = (before[:, :-1], after[:, :-1]) if timed else (before, after)
        if not np.isfinite(a.astype("float64")).all() or close([a], [b], 1e-4):
            continue
        yield lab.finding(
            f"`{type(layer).__name__}` {'takes a mask' if takes else 'sets `supports_masking`'}, and values at masked steps "
            "change its output.",
            expected="outputs that don't depend on what is masked",
            got=f"a difference of {gap(a, b):.2g} beside values up to {magnitude(a):.2g}",
            fix="weigh the steps by `ops.cast(mask, x.dtype)`, or set their scores to a large negative number."
            if takes
            else "take `mask=None` as an argument of `call` and leave the masked steps out.",
            at=written,
        )
        return


def _outputs(layer: Any, feed: Feed) -> list[np.ndarray]:
    return arrays(call(layer, feed))
