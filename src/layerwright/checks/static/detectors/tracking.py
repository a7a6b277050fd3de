"""Layers and weights that Keras does not know: made in `call`, or hidden in other objects."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import DROPOUTS, WITH_WEIGHTS
from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.detectors.weights import NATIVE, own_weights
from layerwright.checks.static.guards import questions
from layerwright.checks.static.reach import calls
from layerwright.checks.static.view import ClassView


@reads("state-in-call")
def state_in_call(view: ClassView) -> Iterator[Fault]:
    """A layer with weights, a weight, a variable, a metric or a seed generator that `call` makes."""
    for code, call, dotted in calls(view, "call"):
        what = _state(view, dotted)
        if what is None or questions(code, call) & {"built", "backend"}:
            continue
        yield Fault(
            f"The source of `{code.said}` makes {what}, in what `call` runs.",
            call,
            "state that is made once, before the first call",
            text_of(call),
            "make it in `__init__` or `build` and keep it in an attribute.",
        )


def _state(view: ClassView, dotted: str | None) -> str | None:
    """What a call makes that has state, for sure."""
    if dotted in ("self.add_weight", "self.add_variable") and view.method(dotted.removeprefix("self.")) is None:
        return "a weight"
    if dotted is None or names.last(dotted).islower():
        return None
    if dotted == "keras.Variable" or dotted in NATIVE:
        return "a variable"
    if dotted == "keras.random.SeedGenerator":
        return "a SeedGenerator"
    if dotted.startswith("keras.metrics."):
        return f"the metric {names.last(dotted)}"
    if dotted.startswith("keras.layers.") and names.last(dotted) in WITH_WEIGHTS | DROPOUTS:
        return f"the layer {names.last(dotted)}"
    local = view.local(dotted)
    if local is not None and local.is_layer and any(True for _ in own_weights(local)):
        return f"the layer {local.name}"
    return None


@reads("untracked-layer")
def untracked_layer(view: ClassView) -> Iterator[Fault]:
    """A layer that is put into a list by its index, or held by an object that is no layer."""
    for code in (
        inner for method in view.methods for inner in method.everything() if method.name in ("__init__", "build")
    ):
        for node in code.nodes:
            target = node.targets[0] if isinstance(node, ast.Assign) else None
            if not isinstance(target, ast.Subscript) or not isinstance(node, ast.Assign):
                continue
            holder = code.dotted(target.value) or ""
            name = holder.removeprefix("self.")
            if holder == f"self.{name}" and _is_list(view, name) and _makes_weights(view, code, node.value):
                yield _untracked(
                    code, node, f"self.{name}[...]", "it is put into the list by its index, which isn't watched"
                )
    for store in view.stores:
        for maker in store.makers:
            holder_view = view.local(maker)
            held = None if holder_view is None else _held(holder_view, layers=True)
            if holder_view is not None and held is not None:
                yield _untracked(
                    store.code,
                    store.statement,
                    f"self.{store.name}.{held}",
                    f"a plain `{holder_view.name}` holds it, which is no layer",
                )


def _is_list(view: ClassView, name: str) -> bool:
    """Whether an attribute is a list of a fixed length from the beginning: `[None] * depth`."""
    stored = view.attributes.get(name, [])
    return len(stored) == 1 and _fixed_list(stored[0].value)


def _fixed_list(node: ast.expr | None) -> bool:
    if isinstance(node, ast.BinOp) and isinstance(node.op, ast.Mult):
        return isinstance(node.left, ast.List) or isinstance(node.right, ast.List)
    return isinstance(node, ast.List) and bool(node.elts)


def _makes_weights(view: ClassView, code: Code, value: ast.expr) -> bool:
    dotted = code.dotted(value.func) if isinstance(value, ast.Call) else None
    return (_state(view, dotted) or "").startswith("the layer") and names.last(dotted) not in DROPOUTS


def _held(view: ClassView, *, layers: bool) -> str | None:
    """The attribute in which a class that is no layer, and derives from nothing, holds a layer (or a variable)."""
    if view.is_layer or view.externals or view.node.decorator_list:
        return None
    for store in view.stores:
        if store.code.name != "__init__" or store.value is None:
            continue
        if _makes_weights(view, store.code, store.value) if layers else store.makers == {"keras.Variable"}:
            return store.name
    return None


def _untracked(code: Code, node: ast.expr | ast.stmt, name: str, why: str) -> Fault:
    return Fault(
        f"The source of `{code.said}` makes a layer that Keras doesn't see, `{name}`: {why}.",
        node,
        "every layer that `call` uses among the tracked sublayers",
        text_of(node),
        "assign the layer, or a finished list of layers, to an attribute of the layer itself.",
    )


@reads("untracked-variable")
def untracked_variable(view: ClassView) -> Iterator[Fault]:
    """`self.box.count = keras.Variable(...)`, where the box is a plain object, or one that makes a variable itself."""
    for code in (inner for method in view.methods for inner in method.everything()):
        for node in code.nodes:
            if not isinstance(node, ast.Assign) or not isinstance(node.value, ast.Call):
                continue
            name, held = names.on_attribute(code.dotted(node.targets[0]))
            plain = [local for maker in view.makers(name) if (local := view.local(maker)) and not local.externals]
            if plain and code.dotted(node.value.func) == "keras.Variable" and not any(p.is_layer for p in plain):
                yield _hidden_variable(code, node, f"self.{name}.{held}", plain[0])
    for store in view.stores:
        for holder in filter(None, map(view.local, store.makers)):
            variable = _held(holder, layers=False)
            if variable is not None:
                yield _hidden_variable(store.code, store.statement, f"self.{store.name}.{variable}", holder)


def _hidden_variable(code: Code, node: ast.stmt, name: str, holder: ClassView) -> Fault:
    return Fault(
        f"The source of `{code.said}` makes a variable that Keras doesn't see, `{name}`: a plain `{holder.name}` holds "
        "it, which is no layer.",
        node,
        "every variable that `call` uses among `layer.variables`",
        text_of(node),
        "assign the variable to an attribute of the layer itself.",
    )
