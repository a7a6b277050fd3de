from __future__ import annotations

import re
from collections.abc import Iterator

from layerwright.checks.attempt import Failure
from layerwright.checks.facts import INSTEAD_OF_SHAPE
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule

MISSING = re.compile(r"'(tuple|list|int|NoneType|torch\.Size|Size|TrackedList)' object has no attribute '(\w+)'")


@rule("LW203", "error")
def shape_is_a_tuple(lab: Lab) -> Iterator[Finding]:
    """A shape is used as if it were a tensor or a `TensorShape`.

    ## What it does
    Looks for an error of constructing, calling, tracing or building that says that a tuple, a list or a number
    has no `as_list`, `ndims`, `dtype`, `value` and the like.

    ## Why is this bad
    In Keras 3 a shape is a tuple of whole numbers and None, and from a file a list; there is no `TensorShape`
    on any backend, and no tensor in `build`.

    ## Example
    ```python
    class Scale(layers.Layer):
        def build(self, input_shape):
            features = input_shape.as_list()[-1]
            self.scale = self.add_weight(shape=(features,), name="scale")

        def call(self, x):
            return x * self.scale
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) * self.scale

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    keras, `backend/common/variables.py`: `standardize_shape`.
    """
    seen = set()
    for failure in _failures(lab):
        found = MISSING.search(failure.text)
        if failure.kind != "AttributeError" or found is None or found[2] not in INSTEAD_OF_SHAPE or failure.at is None:
            continue
        if failure.at in seen:
            continue
        seen.add(failure.at)
        kind, name = found[1], found[2]
        yield lab.finding(
            f"`{failure.at.function}` asks a shape for `.{name}`, which it doesn't have: "
            + ("the sizes in it are plain numbers." if kind in ("int", "NoneType") else "it is a plain tuple."),
            expected="a tuple of whole numbers and None",
            got=f"'{kind}' object has no attribute '{name}'",
            fix=f"write {INSTEAD_OF_SHAPE[name]}.",
            at=failure,
        )


def _failures(lab: Lab) -> Iterator[Failure]:
    yield from lab.failures
    if not lab.called.ok:
        return
    for probe in (lab.symbolic, lab.built):
        if probe.failure is not None:
            yield probe.failure
