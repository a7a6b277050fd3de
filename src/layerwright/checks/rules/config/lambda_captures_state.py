from __future__ import annotations

import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.source import Function, function_of, text_of
from layerwright.checks.walk import plain


@rule("LW123", "error", hides=("reload-differs", "state-in-call", "config-lambda", "no-gradient"))
def lambda_captures_state(lab: Lab) -> Iterator[Finding]:
    """A `Lambda` uses a layer or weight that nothing tracks.

    ## What it does
    Looks at what the functions of `Lambda` layers refer to: layers and weights that the model doesn't hold, and
    layers that are made inside the function.

    ## Why is this bad
    A `Lambda` has no weights of its own, and Keras doesn't look into its function. The layer isn't trained and
    isn't saved. Nothing is said.

    ## Example
    ```python
    class Head(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            scores = layers.Dense(3, dtype=self.dtype_policy)
            self.head = layers.Lambda(lambda x: scores(x), dtype=self.dtype_policy)

        def call(self, x):
            return self.head(x)
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs_lambda_captures_state")
    class Head(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.scores = layers.Dense(3, trainable=self.trainable, dtype=self.dtype_policy)

        def build(self, input_shape):
            self.scores.build(input_shape)

        def call(self, x):
            return self.scores(ops.cast(x, self.compute_dtype))

        def compute_output_shape(self, input_shape):
            return (*input_shape[:-1], 3)
    ```

    ## Source
    The documentation of `keras.layers.Lambda`.
    """
    subject = lab.layer
    if subject is None:
        return
    tracked = {id(x) for x in (subject, *internals.sublayers(subject), *subject.variables)}
    for layer in (subject, *internals.sublayers(subject)):
        if isinstance(layer, keras.layers.Lambda):
            yield from _captured(lab, layer, tracked)
            yield from _made_inside(lab, layer)


def _captured(lab: Lab, layer: Any, tracked: set[int]) -> Iterator[Finding]:
    for name, value in _referred(layer.function):
        loose = [x for x in _state_in(value) if id(x) not in tracked and _has_weights(x)]
        if loose:
            kind = "weight" if isinstance(loose[0], keras.Variable) else type(loose[0]).__name__
            yield lab.finding(
                f"The `Lambda` `{layer.name}` uses `{name}`, a `{kind}` that the model doesn't track.",
                expected="every layer with weights in an attribute of a layer or model",
                got=f"a {kind} in a function, which is neither trained nor saved",
                fix=f"write a Layer subclass that keeps `{name}` in an attribute and calls it.",
                at=function_of(layer.function),
            )


def _made_inside(lab: Lab, layer: Any) -> Iterator[Finding]:
    function = function_of(layer.function)
    for call in function.calls() if function is not None else ():
        made = _resolved(function, call)
        if isinstance(made, type) and issubclass(made, keras.layers.Layer) and function and _gets_weights(lab, made):
            yield lab.finding(
                f"The `Lambda` `{layer.name}` makes a `{made.__name__}` in its function: new weights at every call.",
                expected="layers that are made once and tracked",
                got=text_of(call),
                fix=f"write a Layer subclass that makes the `{made.__name__}` in `__init__` and calls it.",
                at=(function, call),
            )


def _gets_weights(lab: Lab, cls: type) -> bool:
    """Whether the layer that was made in a call got weights; true where that can't be seen."""
    record = lab.recorded.value
    found = record.last(cls) if record is not None else None
    return found is None or not found[0].built or bool(found[0].weights)


def _resolved(function: Function | None, call: Any) -> Any:
    return None if function is None else function.resolve(call.func)


def _referred(function: Any) -> Iterator[tuple[str, Any]]:
    """What a function refers to outside itself: closure, globals, defaults, and `self` of a bound method."""
    live = getattr(function, "__func__", function)
    code = getattr(live, "__code__", None)
    if code is None:
        yield "the function", function
        return
    found = inspect.getclosurevars(live) if not _has_empty_cell(live) else None
    if found is not None:
        yield from {**found.globals, **found.nonlocals}.items()
    defaults = inspect.signature(live).parameters.values()
    yield from ((p.name, p.default) for p in defaults if p.default is not p.empty)


def _has_empty_cell(function: Any) -> bool:
    try:
        return any(cell.cell_contents is cell for cell in function.__closure__ or ())
    except ValueError:
        return True


def _state_in(value: Any, depth: int = 3) -> Iterator[Any]:
    """The layers and weights in a value, containers and plain objects included."""
    if isinstance(value, keras.layers.Layer | keras.Variable):
        yield value
    elif depth and isinstance(value, Mapping | list | tuple):
        for inner in value.values() if isinstance(value, Mapping) else value:
            yield from _state_in(inner, depth - 1)
    elif depth and plain(value):
        for inner in vars(value).values():
            yield from _state_in(inner, depth - 1)


def _has_weights(value: Any) -> bool:
    # A layer that was called has its weights; one that wasn't may get some.
    return isinstance(value, keras.Variable) or bool(value.weights) or not value.built
