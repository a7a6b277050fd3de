from __future__ import annotations

from collections.abc import Iterator

import keras

from layerwright.checks.feed import leaves
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule


@rule("LW310", "warning")
def output_dtype_mismatch(lab: Lab) -> Iterator[Finding]:
    """The declared output dtype isn't what `call()` returns.

    ## What it does
    Compares the dtype of the symbolic output with that of an eager call.

    ## Why is this bad
    With `compute_output_shape()` Keras assumes the layer's compute dtype; the next layer and the loss are prepared
    for it.

    ## Example
    ```python
    class Winner(layers.Layer):
        def call(self, x):
            return ops.argmax(x, axis=-1)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape[:-1])
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Winner(layers.Layer):
        def call(self, x):
            return ops.argmax(x, axis=-1)

        def compute_output_spec(self, x):
            return keras.KerasTensor(x.shape[:-1], dtype="int32")
    ```

    ## Source
    The list of faults found beyond the articles' tables, X15.
    """
    declared = [y.dtype for y in lab.symbolic.get().outputs]
    actual = [keras.backend.standardize_dtype(y.dtype) for y in leaves(lab.called.get().raw)]
    # Integers of another width (int64 on one framework, int32 on the other) are the framework's choice.
    if len(declared) == len(actual) and any(_kind(d) != _kind(a) for d, a in zip(declared, actual, strict=True)):
        component = lab.components[0]
        written = component.source.method("compute_output_spec") or component.source.method("compute_output_shape")
        yield lab.finding(
            f"`{component.name}` declares another output dtype than `call` returns.",
            expected=f"{', '.join(actual)}, from `call`",
            got=f"{', '.join(declared)}, declared",
            fix="write `compute_output_spec`, which returns `keras.KerasTensor(shape, dtype)`, or cast the output.",
            at=written or component.source.method("call"),
        )


def _kind(dtype: str) -> str:
    return "int" if "int" in dtype else "float" if "float" in dtype else dtype
