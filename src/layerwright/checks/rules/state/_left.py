"""What a call leaves behind outside of Keras' variables: on the layer, on its class, in the module."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import itertools
from collections.abc import Callable, Iterator
from functools import partial
from types import ModuleType
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.checks.feed import leaves
from layerwright.checks.probes.calls import State
from layerwright.checks.rules._once import once
from layerwright.checks.rules.models._training import OVERRIDES, keeps_state, trained
from layerwright.checks.rules.state._where import attribute, branch_of, component_of, outside, place, stored, touched
from layerwright.checks.source import Function, Source
from layerwright.checks.walk import children

if TYPE_CHECKING:
    from layerwright.checks.lab import Component, Lab

Place = tuple[Function, ast.AST] | Source | None
Key = tuple[int, str]
CONTAINERS = (list, dict, set)
CHANGING = {"append", "appendleft", "extend", "insert", "add", "update", "setdefault", "__setitem__"}


@dataclasses.dataclass(frozen=True)
class Left:
    """One thing that another call finds changed.

    Attributes:
        name: As the user's code reaches it: `self.history`, `HISTORY`, `Keeper.cache`.
        tensors: Whether it is, or holds, a tensor of the call.
        grows: Whether it is a container that gets longer.
        before, after: What it was and what it is, in words.
        at: The line that leaves it.
        method: The method of Keras under which that happens.
    """

    name: str
    tensors: bool
    grows: bool
    before: str
    after: str
    at: Place
    method: str = "call"


@once
def left_behind(lab: Lab) -> list[Left]:
    """All that calls leave behind, each name once."""
    found = [*_on_layers(lab), *_outside(lab)]
    unique = {item.name: item for item in reversed(found)}
    return [item for item in found if unique[item.name] is item]


def _on_layers(lab: Lab) -> Iterator[Left]:
    called = lab.called.get()
    paths = {id(called.layer): "self", **{id(child): path for path, child in children(called.layer)}}
    built, first, second = called.states
    tensors = {k for k in (*first.tensors, *second.tensors) if _moved(k, built, first, second)}
    for key in tensors:
        yield from _tensor(lab, called.owners[key[0]], paths.get(key[0], "self"), key[1], first, second)
    taken = {(i, attribute(path)) for i, path in tensors}
    for key, change in _python(first, second):
        if (key[0], attribute(key[1])) not in taken:
            yield _of_python(lab, called.owners[key[0]], paths.get(key[0], "self"), key[1], change)
    for key, flag in first.scalars.items():
        if isinstance(flag, bool) and built.scalars.get(key, flag) is not flag and second.scalars.get(key) is flag:
            yield from _flag(lab, called.owners[key[0]], paths.get(key[0], "self"), key[1], bool(flag))
    yield from _in_training(lab)
    yield from _in_steps(lab)


def _in_training(lab: Lab) -> Iterator[Left]:
    """The same for what is only left behind while training."""
    run = lab.in_training.value
    if run is None:
        return
    owners = {id(run.layer): ("self", run.layer), **{id(child): (path, child) for path, child in children(run.layer)}}
    before, after = run.states
    tensors = [k for k, value in after.tensors.items() if before.tensors.get(k) != value and k[0] in owners]
    for key in tensors:
        path, owner = owners[key[0]]
        yield from _tensor(lab, owner, path, key[1], before, after)
    taken = {(i, attribute(path)) for i, path in tensors}
    for key, change in _python(before, after):
        if key[0] in owners and (key[0], attribute(key[1])) not in taken:
            path, owner = owners[key[0]]
            yield _of_python(lab, owner, path, key[1], change)


def _in_steps(lab: Lab) -> Iterator[Left]:
    """The same for what `train_step` and its like leave behind on the model."""
    if not keeps_state(lab) or trained(lab).value is None:
        return
    model, states = trained(lab).get().model, trained(lab).get().states
    source = lab.components[0].source
    for key in (k for k in states[2].tensors if _moved(k, *states) and k[0] == id(model)):
        at = stored(source, attribute(key[1]), *OVERRIDES)
        if at is not None:
            yield Left(f"self.{attribute(key[1])}", True, False, "", "a tensor", at, at[0].name)
    for (owner, path), (before, after, grows) in _python(states[1], states[2]):
        at = touched(source, attribute(path), *OVERRIDES)
        if owner == id(model) and at is not None:
            words = ("{} entries" if grows else "{!r}").format
            yield Left(f"self.{attribute(path)}", False, grows, words(before), words(after), at, at[0].name)


def _moved(key: Key, built: State, first: State, second: State) -> bool:
    ids = [s.tensors.get(key) for s in (built, first, second)]
    return ids[0] is None or ids[0] != ids[1] or ids[1] != ids[2]


def _tensor(lab: Lab, owner: Any, path: str, name: str, first: State, second: State) -> Iterator[Left]:
    key, top = (id(owner), name), attribute(name)
    component = component_of(lab, owner)
    if component is None:
        return
    source = component.source
    if not touched_in_call(source, top) and _inherits(type(owner)):
        return  # what one of Keras' own layers keeps, such as the dropout masks of a cell
    same = first.tensors.get(key) == second.tensors.get(key)
    if same and not touched_in_call(source, top) and touched(source, top, "__init__", "build"):
        return  # made while building: `called` couldn't build this layer before it called it
    grows = any(s[0] == id(owner) and attribute(s[1]) == top and s not in first.tensors for s in second.tensors)
    what = "tensors in a list that grows" if grows and top != name else "a tensor"
    yield Left(f"{path}.{top}", True, grows and top != name, "", what, place(lab, owner, top))


def _inherits(cls: type) -> bool:
    """Whether a class is, or derives from, a layer of Keras beside the base classes."""
    base = set(keras.Model.__mro__) | set(keras.layers.Layer.__mro__)
    return any(c.__module__.split(".")[0] == "keras" and c not in base for c in cls.__mro__)


def touched_in_call(source: Source, name: str) -> bool:
    """Whether what `call` reaches, `build` left out, assigns or mentions an attribute."""
    return touched(source, name, "call") is not None


def _python(before: State, after: State) -> Iterator[tuple[Key, tuple[Any, Any, bool]]]:
    """Numbers and strings that differ between two moments, and containers that became longer."""
    for key, value in after.scalars.items():
        if key in before.scalars and not isinstance(value, bool) and repr(before.scalars[key]) != repr(value):
            yield key, (before.scalars[key], value, False)
    for key, size in after.lengths.items():
        if before.lengths.get(key, size) < size:
            yield key, (before.lengths[key], size, True)


def _of_python(lab: Lab, owner: Any, path: str, name: str, change: tuple[Any, Any, bool]) -> Left:
    before, after, grows = change
    words = ("{} entries" if grows else "{!r}").format
    return Left(
        f"{path}.{attribute(name)}", False, grows, words(before), words(after), place(lab, owner, attribute(name))
    )


def _flag(lab: Lab, owner: Any, path: str, name: str, value: Any) -> Iterator[Left]:
    """A switch that the first call turns: the compiled step keeps the branch of that first call."""
    component = component_of(lab, owner)
    at = stored(component.source, name, "call") if component else None
    if component is None or at is None or component.source.reads(name, "call") is None:
        return
    branch = branch_of(*at)
    if branch is not None and _makes_state(component, at[0], branch):
        return  # the weights or layers that are made there are what is wrong
    yield Left(f"{path}.{name}", False, False, repr(not value), repr(value), at)


def _makes_state(component: Component, function: Function, branch: ast.If) -> bool:
    for node in ast.walk(branch):
        if isinstance(node, ast.Call):
            made = function.resolve(node.func, component.layer)
            named = getattr(node.func, "attr", "")
            if named in ("add_weight", "add_variable") or (
                isinstance(made, type) and issubclass(made, keras.Operation | keras.Variable)
            ):
                return True
    return False


def _attribute(cls: type, name: str) -> Any:
    return vars(cls).get(name)


@dataclasses.dataclass(frozen=True)
class _Spot:
    """Something outside of the layer that its calls could change."""

    name: str
    now: Callable[[], Any]
    at: Place
    written: bool = False  # whether `call` says that it changes it


def _outside(lab: Lab) -> Iterator[Left]:
    spots = [spot for component in lab.components for spot in _spots(component)]
    layer = lab.called.get().layer
    if not spots:
        return
    moments = [{s.name: _seen(lab, s.now()) for s in spots}]
    for _ in range(2):
        # Two calls: what only the first one changes is a memo, which is harmless unless it holds tensors.
        again = lab.attempt(lambda: layer(*lab.feed.args, **lab.feed.kwargs))
        if not again.ok:
            return
        moments.append({s.name: _seen(lab, s.now()) for s in spots})
    for spot in spots:
        first, second, third = (m[spot.name] for m in moments)
        if third.tensors:
            if spot.written or not (first.same(second) and second.same(third)):
                yield Left(spot.name, True, third.size != second.size, "", "tensors of the call", spot.at)
        elif not second.same(third):
            yield Left(spot.name, False, third.kind == "container", second.words, third.words, spot.at)


def _spots(component: Component) -> Iterator[_Spot]:
    source = component.source
    for cls in source.cls.__mro__:
        if cls is not object and cls.__module__.split(".")[0] not in ("keras", "torch", "tensorflow", "builtins"):
            for name, value in list(vars(cls).items()):
                if not name.startswith("__") and not callable(value) and not hasattr(type(value), "__get__"):
                    at = touched(source, name, "call") or _mentions(source, name)
                    if at is not None:
                        now = partial(_attribute, cls, name)
                        yield _Spot(f"{cls.__name__}.{name}", now, at, _writes(at[0], name))
    for name, value, function, node in outside(source, "call"):
        if isinstance(value, CONTAINERS) or type(value).__name__ in ("deque", "defaultdict", "Counter", "count"):
            yield _Spot(name, lambda v=value: v, (function, node), _writes(function, name))  # type: ignore[misc]
        elif not isinstance(value, ModuleType | type) and hasattr(value, "__dict__") and _own(value):
            yield _Spot(name, lambda v=value: dict(vars(v)), (function, node))  # type: ignore[misc]
    call = source.method("call")
    if call is not None and call.live is not None:
        defaults = inspect.signature(call.live).parameters.items()
        for name, value in ((n, p.default) for n, p in defaults if isinstance(p.default, CONTAINERS)):
            yield _Spot(name, lambda v=value: v, (call, call.node), _writes(call, name))  # type: ignore[misc]
    for function in source.reachable("call"):
        for node in function.walk():
            if isinstance(node, ast.Global) and function.live is not None:
                for name in node.names:
                    yield _Spot(name, lambda g=function.live.__globals__, n=name: g.get(n), (function, node))  # type: ignore[misc]
    for name, value in list(vars(source.layer).items()):
        if isinstance(value, itertools.count | np.ndarray) and (at := touched(source, name, "call")):
            yield _Spot(f"self.{name}", lambda o=source.layer, n=name: vars(o).get(n), at)  # type: ignore[misc]


def _mentions(source: Source, name: str) -> tuple[Function, ast.AST] | None:
    """Where `call` mentions `Class.name` or `type(self).name`."""
    return next(
        ((f, n) for f in source.reachable("call") for n in f.walk() if isinstance(n, ast.Attribute) and n.attr == name),
        None,
    )


def _own(value: Any) -> bool:
    from layerwright.checks.walk import plain

    return plain(value)


@dataclasses.dataclass(frozen=True)
class _Seen:
    """What a spot holds at one moment; tensors are kept, so that no other gets their id."""

    kind: str
    value: Any
    tensors: list[Any]
    size: int
    words: str

    def same(self, other: _Seen) -> bool:
        ids = [id(t) for t in self.tensors], [id(t) for t in other.tensors]
        return self.kind == other.kind and self.value == other.value and ids[0] == ids[1]


def _seen(lab: Lab, value: Any) -> _Seen:
    if lab.engine.is_tensor(value):
        return _Seen("tensor", None, [value], 1, "a tensor")
    if isinstance(value, np.ndarray):
        return _Seen("array", value.tobytes() if value.size < 100_000 else None, [], value.size, "an array")
    if hasattr(value, "__len__") and not isinstance(value, str):
        inside = [
            x
            for x in leaves(list(value.values()) if isinstance(value, dict) else list(value))
            if lab.engine.is_tensor(x)
        ]
        plain = tuple(repr(x) for x in (value.items() if isinstance(value, dict) else value) if _scalar(x))
        return _Seen("container", (len(value), plain), inside, len(value), f"{len(value)} entries")
    return _Seen("scalar", repr(value), [], 1, repr(value))


def _scalar(x: Any) -> bool:
    return isinstance(x, bool | int | float | str) or (isinstance(x, tuple) and all(_scalar(y) for y in x))


def _writes(function: Function, name: str) -> bool:
    """Whether a function changes what a name or an attribute means in place, or assigns the attribute."""
    for node in function.walk():
        if isinstance(node, ast.Attribute) and node.attr == name and isinstance(node.ctx, ast.Store):
            return True
        changed = node.value if isinstance(node, ast.Subscript) and isinstance(node.ctx, ast.Store) else None
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in CHANGING:
            changed = node.func.value
        if isinstance(changed, ast.Name | ast.Attribute) and name in (
            getattr(changed, "id", None),
            getattr(changed, "attr", None),
        ):
            return True
    return False
