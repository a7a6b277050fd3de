"""Arrays and tensors that a component holds as attributes and uses in `call`, though Keras keeps no account of them."""

from __future__ import annotations

import dataclasses
import re
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.lab import Component, Lab
from layerwright.checks.rules._once import once
from layerwright.checks.rules.build._common import CONSTRUCTION, store_of, users
from layerwright.checks.walk import held

WEIGHT = re.compile(
    r"^_*(w|b|u|v|w_?[a-z0-9]{1,2}|b_?[a-z0-9]{1,2}|.*(weight|kernel|bias|gamma|beta|scale|alpha|embedding|params?).*)$",
    re.I,
)
CONSTANT = re.compile(
    r"(one|zero|pad|mask|eps|const|init|state|identity|filter|blur|window|grid|anchor|min|max|mean|std|var)", re.I
)


@dataclasses.dataclass(frozen=True)
class Array:
    """A floating array or tensor in an attribute that `call` reads.

    Attributes:
        component: Whose attribute it is.
        path: How the code reaches it, such as `self.scale`.
        attribute: The attribute under which it is found.
        raw: The object itself.
        value: As an array.
    """

    component: Component
    path: str
    attribute: str
    raw: Any
    value: np.ndarray

    @property
    def name(self) -> str:
        """The last name in the path: `w` of `self.params['w']`."""
        return str(re.findall(r"\w+", self.path)[-1])


@once
def arrays_held(lab: Lab) -> list[Array]:
    """Every floating array that a component was given by its own constructor or `build` and that `call` reads."""
    return [array for component in users(lab) for array in _of(lab, component)]


def _of(lab: Lab, component: Component) -> Iterator[Array]:
    source, given = component.source, list((lab.arguments() or {}).values()) if lab.made.ok else []
    kept = {id(internals.backing(v)) for v in getattr(lab.layer, "variables", [])}
    for item in held(component.layer):
        if isinstance(item.value, keras.Variable) or not _is_array(lab, item.value) or id(item.value) in kept:
            continue
        value = np.asarray(keras.ops.convert_to_numpy(item.value))
        if value.dtype.kind != "f" or not value.size or any(item.value is g for g in given):
            continue
        if _came_later(lab, component, item.path, item.value):
            continue
        made = store_of(source, item.attribute, *CONSTRUCTION) is not None
        if (
            made
            and store_of(source, item.attribute, "call") is None
            and source.reads(item.attribute, "call") is not None
        ):
            yield Array(component, f"self.{item.path}", item.attribute, item.value, value)


def _came_later(lab: Lab, component: Component, path: str, value: Any) -> bool:
    """Whether a tensor wasn't there yet when the layer was built: a call left it."""
    called = lab.called.value
    if called is None or not lab.engine.is_tensor(value) or id(component.layer) not in called.owners:
        return False
    return (id(component.layer), path) not in called.states[0].tensors


def _is_array(lab: Lab, value: Any) -> bool:
    if isinstance(value, np.ndarray):
        return bool(value.dtype != object)
    engine = lab.engine
    return bool(engine.is_tensor(value)) and not engine.is_traced(value) and not engine.is_variable(value)


@once
def drawn_anew(lab: Lab) -> set[str]:
    """The paths of those arrays that hold other values in a layer made under another seed."""
    if not lab.called.ok or not arrays_held(lab):
        return set()

    def probe() -> Any:
        layer = lab.fresh(11)
        layer(*lab.feed.args, **lab.feed.kwargs)
        return layer

    other = lab.attempt(probe).value
    there = {} if other is None else {f"self.{item.path}": item.value for item in held(other)}
    return {
        a.path
        for a in arrays_held(lab)
        if a.path in there and a.component is lab.components[0] and _differs(a, there[a.path])
    }


def _differs(array: Array, other: Any) -> bool:
    value = np.asarray(keras.ops.convert_to_numpy(other))
    return value.shape == array.value.shape and not np.array_equal(value, array.value, equal_nan=True)


def is_constant_start(array: Array) -> bool:
    """Whether an array looks like a weight's initial value: zeros or ones all over, under a name that fits."""
    value = array.value
    if not np.all(value == value.flat[0]) or CONSTANT.search(array.name):
        return False
    if value.flat[0] in (0.0, 1.0):
        return value.size > 1 or bool(WEIGHT.match(array.name))
    return value.size > 1 and bool(WEIGHT.match(array.name)) and "kernel" not in array.name


def is_named_like_weight(array: Array) -> bool:
    """Whether an array's name is one that people give to weights."""
    return bool(WEIGHT.match(array.name)) and not CONSTANT.search(array.name)
