from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.shapes._causes import cause
from layerwright.checks.rules.shapes._compare import fits, shapes


@rule("LW309", "error", hides=("call-not-traceable",))
def output_shape_mismatch(lab: Lab) -> Iterator[Finding]:
    """The declared output shape isn't what `call()` returns.

    ## What it does
    Compares the symbolic output (from `compute_output_shape()` or `compute_output_spec()` where there is one) with
    the shapes that an eager call gives.

    ## Why is this bad
    Keras believes the declaration and no longer runs `call()`: the next layer is built for a shape that never
    comes.

    ## Example
    ```python
    class Doubled(layers.Layer):
        def call(self, x):
            return ops.concatenate([x, -x], axis=-1)

        def compute_output_shape(self, input_shape):
            return input_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Doubled(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, x):
            x = ops.cast(x, self.compute_dtype)
            return ops.concatenate([x, -x], axis=-1)

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 2 * input_shape[-1])
    ```

    ## Source
    Keras issue 19324, TensorFlow issue 19961.
    """
    found = cause(lab)
    if found is not None and found.rule == "output-shape-mismatch":
        yield lab.finding(
            f"`{found.component.name}` can't say its output shape for an open batch.",
            expected="a shape with None where the input has None",
            got=found.failure.summary,
            fix="let `compute_output_shape` pass None on, or delete it where `call` can be traced.",
            at=found.at,
        )
        return
    declared = [tuple(y.shape) for y in lab.symbolic.get().outputs]
    actual = [y.shape for y in lab.called.get().outputs]
    if len(declared) != len(actual) or any(not fits(d, a) for d, a in zip(declared, actual, strict=True)):
        component = lab.components[0]
        written = component.source.method("compute_output_shape") or component.source.method("compute_output_spec")
        yield lab.finding(
            f"`{component.name}` declares another output shape than `call` returns.",
            expected=f"{shapes(actual)}, from `call`",
            got=f"{shapes(declared)}, declared",
            fix="correct `compute_output_shape`, or delete it where `call` can be traced.",
            at=written or component.source.method("call"),
        )
