from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from layerwright.checks.attempt import Attempt
from layerwright.checks.feed import Feed
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.build._common import parameters_of, variables_below
from layerwright.checks.rules.build._shapes import in_build, regrouped, tensor_arguments, type_test

# What a wrong guess of the shape's form raises, not what a layer raises on purpose about its inputs.
WRONG_FORM = ("TypeError", "IndexError", "AttributeError", "KeyError")


@rule("LW205", "error", hides=("reload-differs", "build-shape-type", "child-unbuilt-after-build"))
def build_gets_first_shape(lab: Lab) -> Iterator[Finding]:
    """`build()` takes the shape of its inputs for something else than what it gets.

    ## What it does
    Two mistakes about several inputs. `build(self, input_shape)` beside `call(self, a, b)` gets the shape of `a`
    alone. And for inputs in one argument, `isinstance(input_shape, list)` tells a list of inputs from a tuple of
    inputs, not several inputs from one: the layer is called with a list and with a tuple of the same inputs.

    ## Why is this bad
    A tuple of inputs, or a single shape that a file gives as a list, takes the wrong branch: an error that
    points into the arithmetic of `build`, or weights of the wrong size.

    ## Example
    ```python
    class Score(layers.Layer):
        def build(self, input_shape):
            first = input_shape[0] if isinstance(input_shape, list) else input_shape
            self.w = self.add_weight(shape=(int(first[-1]),), name="w")

        def call(self, inputs):
            x, y = inputs
            return x * self.w * y
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Score(layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def build(self, input_shape):
            first, second = input_shape
            self.w = self.add_weight(shape=(first[-1],), name="w")

        def call(self, inputs):
            x, y = inputs
            return ops.cast(x, self.compute_dtype) * self.w * ops.cast(y, self.compute_dtype)

        def compute_mask(self, inputs, mask=None):
            return mask[0] if mask else None

        def compute_output_shape(self, input_shape):
            return tuple(input_shape[0])
    ```

    ## Source
    keras, `layers/layer.py`: `update_shapes_dict_for_target_fn` passes the first shape where `build` has one
    argument.
    """
    if not lab.components:
        return
    source = lab.components[0].source
    build = source.method("build")
    if build is None:
        return
    other = regrouped(lab.feed)
    if other is not None:
        yield from _by_grouping(lab, other)
    elif tensor_arguments(lab.feed) > 1 and len(parameters_of(build)) == 1:
        yield from _first_alone(lab)


def _by_grouping(lab: Lab, other: Feed) -> Iterator[Finding]:
    source = lab.components[0].source
    here, there = _call(lab, lab.feed), _call(lab, other)
    given, changed = (type(f.args[0]).__name__ for f in (lab.feed, other))
    bad, form = (here, given) if not here.ok else (there, changed)
    if here.ok == there.ok:
        if not here.ok or _shapes(here.value) == _shapes(there.value):
            return
        got = f"weights of shapes {_shapes(here.value)} for a {given}, {_shapes(there.value)} for a {changed}"
    elif bad.failure is not None and in_build(bad) and bad.failure.kind in WRONG_FORM:
        got = f"for a {form}: {bad.failure.summary}"
    else:
        return
    yield lab.finding(
        f"`{lab.components[0].name}.build` treats a tuple of inputs otherwise than a list of the same inputs.",
        expected="the same weights for `layer([a, b])` and `layer((a, b))`",
        got=got,
        fix="don't ask whether the shape is a list: take it apart as the inputs are, `first, second = input_shape`.",
        at=type_test(source) or bad.failure or source.method("build"),
    )


def _first_alone(lab: Lab) -> Iterator[Finding]:
    failure = lab.called.failure
    if failure is None:
        return
    call = lab.components[0].source.method("call")
    names = [n for n in parameters_of(call) if n not in ("training", "mask")][:2]
    shapes = ", ".join(f"{name}_shape" for name in names)
    inside = in_build(lab.called) and failure.kind in (*WRONG_FORM, "ValueError")
    if not inside and not _fits_when_equal(lab):
        return
    yield lab.finding(
        f"`{lab.components[0].name}.build` has one argument, so it gets the shape of the first input alone.",
        expected=f"`build(self, {shapes})`, beside `call(self, {', '.join(names)})`",
        got=failure.summary,
        fix=f"write `def build(self, {shapes})`.",
        at=failure if inside else lab.components[0].source.method("build"),
    )


def _fits_when_equal(lab: Lab) -> bool:
    """Whether the call works as soon as all inputs have the first one's size: the weights were made for that."""
    feed = lab.feed
    first = next((x for x in feed.args if isinstance(x, np.ndarray)), None)
    if first is None or len({x.shape[-1] for x in feed.arrays if x.ndim}) < 2:
        return False
    return _call(lab, feed.map(lambda x: np.resize(x, (*x.shape[:-1], first.shape[-1])) if x.ndim else x)).ok


def _call(lab: Lab, feed: Feed) -> Attempt[Any]:
    def probe() -> Any:
        layer = lab.fresh()
        layer(*feed.args, **feed.kwargs)
        return layer

    return lab.attempt(probe)


def _shapes(layer: Any) -> list[tuple[int, ...]]:
    return [tuple(v.shape) for v in variables_below(layer)]
