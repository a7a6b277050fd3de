"""What `call` leaves behind outside of Keras' variables, and what is lost because it comes too early."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.guards import by_type, questions
from layerwright.checks.static.reach import calls, reach
from layerwright.checks.static.stores import Store
from layerwright.checks.static.tensors import tensors
from layerwright.checks.static.view import ClassView

WEIGHT = 'make it a weight: `self.add_weight(shape=(), dtype="int32", trainable=False, ...)` and `assign_add(1)`.'


@reads("add-loss-outside-call")
def add_loss_outside_call(view: ClassView) -> Iterator[Fault]:
    """`add_loss` in `__init__` or `build`."""
    if view.method("add_loss") is not None:
        return
    in_call = set(reach(view, "call"))
    for method in ("__init__", "build"):
        for code, call, dotted in calls(view, method):
            if code not in in_call and dotted == "self.add_loss" and (method == "build" or code.name != "build"):
                yield Fault(
                    f"The source of `{code.said}` calls `add_loss`, and the loss is gone when the first call starts.",
                    call,
                    "add_loss in `call`",
                    f"add_loss in `{method}`",
                    "give the weight a regularizer (`add_weight(..., regularizer=...)`), or call `add_loss` in `call`.",
                )


@reads("metric-in-call")
def metric_in_call(view: ClassView) -> Iterator[Fault]:
    """A metric that `call` updates."""
    for code, call, dotted in calls(view, "call"):
        name, method = names.on_attribute(dotted)
        made = view.makers(name)
        if method == "update_state" and made and all(maker.startswith("keras.metrics.") for maker in made):
            yield Fault(
                f"The source of `{code.said}` updates the metric `self.{name}`, whose variables `fit` doesn't hand "
                "to `call` on JAX.",
                call,
                "metrics updated in `compute_metrics` or `train_step`",
                text_of(call),
                "move the update to `compute_metrics`, or keep the value in a non-trainable weight.",
            )


def _stored_in_call(view: ClassView) -> Iterator[tuple[Store, bool]]:
    """What `call` stores in attributes, and whether it is a tensor."""
    known = tensors(view)
    seen: set[ast.AST] = set()
    for code in reach(view, "call"):
        for store in view.stores:
            if store.code is code and store.node not in seen and not by_type(code, store.node):
                seen.add(store.node)
                yield store, code in known and known[code].kind(store.value) == "values"


@reads("weight-rebound")
def weight_rebound(view: ClassView) -> Iterator[Fault]:
    """`self.average = ...` in `call`, where it was a weight before."""
    for store, is_tensor in _stored_in_call(view):
        others = {m for s in view.attributes[store.name] if s.code.name in ("build", "__init__") for m in s.makers}
        if is_tensor and others == {"self.add_weight"}:
            yield Fault(
                f"The source of `{store.code.said}` puts a tensor in the place of the weight `self.{store.name}`.",
                store.statement,
                f"self.{store.name}.assign(...)",
                text_of(store.statement),
                f"write `self.{store.name}.assign(...)`.",
            )


@reads("tensor-leak")
def tensor_leak(view: ClassView) -> Iterator[Fault]:
    """A tensor that `call` keeps: in an attribute, or in a list in one."""
    if view.file.frameworks == {"torch"}:
        return
    for store, is_tensor in _stored_in_call(view):
        makers = {m for s in view.attributes[store.name] for m in s.makers}
        if is_tensor and "self.add_weight" not in makers and _is_kept(view, store):
            yield _leak(store.code, store.statement, f"self.{store.name}")
    known = tensors(view)
    for code, call, dotted in calls(view, "call"):
        name, method = names.on_attribute(dotted)
        if code not in known or method not in ("append", "extend", "insert") or not _is_growing_list(view, name):
            continue
        if any(known[code].kind(value) == "values" for value in call.args):
            yield _leak(code, call, f"self.{name}")


def _leak(code: Code, node: ast.expr | ast.stmt, name: str) -> Fault:
    return Fault(
        f"The source of `{code.said}` leaves a tensor behind in `{name}`.",
        node,
        "tensors are passed and returned; what must stay is a variable",
        text_of(node),
        "return the tensor, or assign it to a weight made with `add_weight(..., trainable=False)`.",
    )


def _is_kept(view: ClassView, store: Store) -> bool:
    """Whether nothing in the class takes the tensor away again, or holds it by an agreement with Keras."""
    released = any(isinstance(s.value, ast.Constant) and s.code.name != "__init__" for s in view.attributes[store.name])
    return not released and not store.name.startswith("_keras") and not questions(store.code, store.node)


def _is_growing_list(view: ClassView, name: str) -> bool:
    """Whether an attribute is a list that is empty at first, and that the class never empties again."""
    stored = view.attributes.get(name, [])
    empty = all(isinstance(s.value, ast.List) and not s.value.elts for s in stored)
    return bool(stored) and empty and not _emptied(view, name)


def _emptied(view: ClassView, name: str) -> bool:
    """Whether the class empties the list again."""
    again = [s for s in view.attributes[name] if s.code.name != "__init__"]
    return bool(again or {f"self.{name}.clear", f"self.{name}.pop"} & view.called)


@reads("python-state-in-call")
def python_state_in_call(view: ClassView) -> Iterator[Fault]:
    """`self.step += 1` on a Python number."""
    if view.file.frameworks == {"torch"}:
        return
    for code in reach(view, "call"):
        for node in code.nodes:
            if not isinstance(node, ast.AugAssign) or not isinstance(node.target, ast.Attribute):
                continue
            name = node.target.attr
            starts = [
                s.value for s in view.attributes.get(name, []) if s.value is not None and s.code.name == "__init__"
            ]
            plain = bool(starts) and all(isinstance(v, ast.Constant) and type(v.value) in (int, float) for v in starts)
            number = isinstance(node.value, ast.Constant) and isinstance(node.value.value, int | float)
            if plain and number and code.dotted(node.target) == f"self.{name}" and not by_type(code, node):
                yield Fault(
                    f"The source of `{code.said}` changes the Python value `self.{name}`, which a compiled step does "
                    "only while it is traced.",
                    node,
                    "a call changes variables only",
                    text_of(node),
                    WEIGHT,
                )
