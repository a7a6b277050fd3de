from __future__ import annotations

from collections.abc import Iterator
from typing import Any

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import store_of, users, variables_below
from layerwright.checks.walk import own_attributes

SYMPTOMS = ("call-not-traceable", "child-unbuilt-after-build", "reload-differs", "unused-sublayer", "model-build-empty")


@rule("LW216", "error", hides=SYMPTOMS)
def built_set_early(lab: Lab) -> Iterator[Finding]:
    """`self.built = True` is set in the constructor, so that `build()` never runs.

    ## What it does
    Looks for a layer that says it is built as soon as it is made, without its own `build` having run, and builds
    another one to see what is missing.

    ## Why is this bad
    Keras calls `build` only while `built` is False. The weights that it would make are missing: an
    AttributeError in `call`, or a layer that works without them.

    ## Example
    ```python
    class Scale(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.scale = None
            self.built = True

        def build(self, input_shape):
            self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

        def call(self, x):
            return x if self.scale is None else x * self.scale
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
    keras, `layers/layer.py`: `_maybe_build`.
    """
    if not lab.made.ok:
        return
    layer = lab.made.get().layer
    component = next(users(lab), None)
    if component is None or type(component.layer) is not type(layer):
        return
    build = component.source.method("build")
    if build is None or not layer.built or internals.build_shapes(layer) is not None:
        return
    built = lab.attempt(lambda: _built(lab)).value
    missing = [] if built is None else _more(built, lab.layer)
    if not missing:
        return
    failure = lab.called.failure
    yield lab.finding(
        f"`{component.name}` says `built = True` before `build` has run, so that Keras never calls it.",
        expected=f"{', '.join(missing)}, which `build` makes",
        got=failure.summary if failure is not None else "a layer that is called without them",
        fix="delete the line: Keras sets `built` itself after `build`.",
        at=store_of(component.source, "built", "__init__") or build,
    )


def _built(lab: Lab) -> Any:
    layer = lab.fresh()
    layer.built = False
    layer(*lab.feed.args, **lab.feed.kwargs)
    return layer


def _more(built: Any, other: Any) -> list[str]:
    """What a layer has that was built and the other one lacks: attributes, else variables."""
    names = [name for name in own_attributes(built) if name not in own_attributes(other)]
    count = len(variables_below(built)) - len(variables_below(other))
    return [f"`self.{name}`" for name in names] or ([f"{count} more variables"] if count > 0 else [])
