from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._shapes import forms, in_build, regrouped, type_test


@rule("LW202", "warning", hides=("reload-differs", "child-unbuilt-after-build"))
def build_shape_type(lab: Lab) -> Iterator[Finding]:
    """`build()` works with a tuple and not with the list that a file gives.

    ## What it does
    Builds one fresh layer from shapes that are tuples, as a first call does, and one from the same shapes as
    lists, as loading does, and compares what became of them.

    ## Why is this bad
    JSON has no tuples. `(None,) + input_shape[1:]` and `isinstance(input_shape, tuple)` go well until the saved
    model is loaded; a subclassed model even swallows the error and loads without its weights.

    ## Example
    ```python
    class Table(layers.Layer):
        def build(self, input_shape):
            self.table = self.add_weight(shape=(2,) + input_shape[1:], name="table")

        def call(self, x):
            return x + ops.mean(self.table, axis=0)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Table(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            self.table = self.add_weight(shape=(2, *input_shape[1:]), name="table")

        def call(self, x):
            return ops.cast(x, self.compute_dtype) + ops.mean(self.table, axis=0)

        def compute_output_shape(self, input_shape):
            return tuple(input_shape)
    ```

    ## Source
    keras, `saving/serialization_lib.py`: the build config is plain JSON.
    """
    found = forms(lab)
    if found is None or not found.tuples.ok:
        return
    source = lab.components[0].source
    test = type_test(source)
    name = type(lab.called.get().layer).__name__
    if test is not None and regrouped(lab.feed) is not None:
        return  # several inputs in a list: `build-gets-first-shape` has it
    if found.lists.failure is not None and in_build(found.lists):
        yield lab.finding(
            f"`{name}.build` works with a shape that is a tuple and fails with a list, which is what a file gives.",
            expected="weights from a list of sizes as from a tuple",
            got=found.lists.failure.summary,
            fix="write `tuple(input_shape)` before using it as a tuple.",
            at=test or found.lists.failure,
        )
    elif found.differs is not None:
        path, tuples, lists = found.differs
        yield lab.finding(
            f"`{name}.build` makes other weights from a list, which is what a file gives, than from a tuple.",
            expected=f"variables of shape {', '.join(map(str, tuples)) or 'none'} in `{path}`",
            got=", ".join(map(str, lists)) or "none",
            fix="write `tuple(input_shape)` before asking what it is.",
            at=test or source.method("build") or source,
        )
