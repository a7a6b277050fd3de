from __future__ import annotations

from collections.abc import Iterator

from layerwright.checks import internals
from layerwright.checks.feed import close
from layerwright.checks.lab import Component, Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import is_users, listed
from layerwright.checks.rules.build._pairs import Pair, pairs


@rule("LW201", "error", hides=("reload-differs", "model-build-empty"))
def child_unbuilt_after_build(lab: Lab) -> Iterator[Finding]:
    """A sublayer is unbuilt after `build()`, so that its saved weights are lost on loading.

    ## What it does
    Builds a fresh layer from its shapes alone, as loading a file does, and compares the variables of every
    sublayer with those of a layer that was called. Where some are missing, the layer is saved inside a
    subclassed model that has a `build()` of its own, and loaded again, to see whether the weights survive.

    ## Why is this bad
    A file is loaded before anything is called: what `build()` leaves unbuilt has no variables yet that could
    take the saved values. `load_model` says nothing, and the sublayer starts from new random weights at its
    first call. Inside a functional model it goes well, which hides the fault until the layer is used elsewhere.

    ## Example
    ```python
    class Lift(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.proj = layers.Dense(3, dtype=self.dtype_policy)

        def build(self, input_shape):
            super().build(input_shape)

        def call(self, x):
            return self.proj(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Lift(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True
            self.proj = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

        def build(self, input_shape):
            self.proj.build(input_shape)

        def call(self, x):
            return self.proj(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)
    ```

    ## Known limits
    A layer without `build()` is reported too, although its weights survive in a functional model: they are lost
    wherever the model or layer around it builds it from a shape.

    ## Source
    Keras issues 18823 and 18875.
    """
    full, bare = lab.called.get().layer, lab.built.get().layer
    lacking = [pair for pair in pairs(full, bare) if pair.lacking and pair.parent is not None]
    if not lacking or _survives(lab):
        return
    culprits: dict[int, tuple[Pair, dict[str, int]]] = {}
    for pair in lacking:
        culprit, unbuilt = _blame(pair)
        culprits.setdefault(id(culprit), (culprit, {}))[1].setdefault(unbuilt.path, 0)
        culprits[id(culprit)][1][unbuilt.path] += pair.lacking
    for culprit, unbuilt_paths in culprits.values():
        yield _finding(lab, culprit, unbuilt_paths)


def _survives(lab: Lab) -> bool:
    """Whether the weights come back from a file all the same."""
    saved = lab.saved.value
    return saved is not None and close(saved.outputs, saved.reloaded)


def _blame(pair: Pair) -> tuple[Pair, Pair]:
    """The part whose `build` should have built something, and what it left: the outermost that is unbuilt."""
    left = pair
    while (
        left.parent is not None
        and left.parent.parent is not None
        and (left.parent.unbuilt or not is_users(left.parent.full))
    ):
        left = left.parent
    return left.parent or left, left


def _finding(lab: Lab, culprit: Pair, unbuilt: dict[str, int]) -> Finding:
    cls = type(culprit.full)
    names = listed([path.replace(culprit.path, "self", 1) for path in unbuilt])
    count, inner = sum(unbuilt.values()), next(iter(unbuilt)).replace(culprit.path, "self", 1)
    component = next(
        (c for c in lab.components if type(c.layer) is cls), Component("self", culprit.full, lab.components[0].source)
    )
    written = component.source.method("build")
    if written is not None:
        message = f"`{cls.__name__}.build` leaves {names} unbuilt, so that loading a file loses {_variables(count)}."
    elif internals.is_default(cls.build):
        message = f"`{cls.__name__}` has no `build`: built from a shape, it leaves {names} unbuilt, and loading loses {_variables(count)}."
    else:
        message = f"Built from a shape, `{cls.__name__}` leaves {names} unbuilt, so that loading a file loses {_variables(count)}."
    return lab.finding(
        message,
        expected="after `build` alone, every variable that a call uses",
        got=f"{_variables(count)} that only the first call makes",
        fix=f"call `{inner}.build(...)` in `build` with the shape that it will see.",
        at=written or component.source,
    )


def _variables(count: int) -> str:
    return f"{count} variable{'s' * (count != 1)}"
