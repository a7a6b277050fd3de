"""The training flag: its name, its default, and whether it is handed on."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import ACT_IN_TRAINING, SAMPLERS, means_training
from layerwright.checks.source import constant, keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.files import LOCAL
from layerwright.checks.static.guards import questions
from layerwright.checks.static.reach import calls
from layerwright.checks.static.view import ClassView


@reads("training-default-true")
def training_default_true(view: ClassView) -> Iterator[Fault]:
    """`call(self, x, training=True)`."""
    call = view.method("call")
    default = call.defaults.get("training") if call is not None else None
    if call is not None and default is not None and constant(default) in (True, 1) and constant(default) is not None:
        yield Fault(
            f"The source of `{call.said}` runs it in training mode unless it is told otherwise.",
            call.node,
            "training=None",
            f"training={text_of(default)}",
            "write `training=None` in the signature of `call`.",
        )


@reads("training-arg-name")
def training_arg_name(view: ClassView) -> Iterator[Fault]:
    """An optional argument that is meant as the training flag, under a name that Keras doesn't fill."""
    call = view.method("call")
    if call is None or "training" in {p.arg for p in call.parameters} or call.node.args.kwarg is not None:
        return
    for name in call.defaults:
        if means_training(name) and call.reads(name) and name not in view.file.keywords - _handed_on(call, name):
            yield Fault(
                f"The source of `{call.said}` names its training flag `{name}`, which Keras never fills.",
                call.node,
                "an argument `training`",
                f"`{signature(call)}`",
                f"rename `{name}` to `training`.",
            )


def _handed_on(call: Code, name: str) -> set[str]:
    """The name itself where all that passes an argument of it is `call`, on to others: `self.drop(x, train=train)`."""
    everywhere = [n for code in call.file.codes.values() for n in code.nodes] + call.file.nodes
    passed = [n for n in everywhere if isinstance(n, ast.keyword) and n.arg == name]
    own = [n for n in passed if isinstance(n.value, ast.Name) and n.value.id == name]
    return {name} if len(own) == len(passed) else set()


def acting(view: ClassView, made: frozenset[str]) -> bool:
    """Whether what makes a sublayer are layers that do something else in training."""
    return bool(made) and all(_acts(view, name, ()) for name in made)


def _acts(view: ClassView, dotted: str, seen: tuple[str, ...]) -> bool:
    local = view.local(dotted)
    if local is None:
        return dotted.startswith("keras.layers.") and names.last(dotted) in ACT_IN_TRAINING
    call = local.method("call")
    if (
        dotted in seen
        or call is None
        or "training" not in {p.arg for p in call.parameters}
        or not call.reads("training")
    ):
        return False
    return any(_acts(local, inner, (*seen, dotted)) for made in local.children.values() for inner in made)


def _child(view: ClassView, dotted: str | None) -> str | None:
    """The name of a sublayer that is called and does something else in training."""
    first, _, name = (dotted or "").partition(".")
    return f"self.{name}" if first == "self" and acting(view, view.children.get(name, frozenset())) else None


@reads("training-hardcoded")
def training_hardcoded(view: ClassView) -> Iterator[Fault]:
    """`self.drop(x, training=True)` in every call."""
    if SAMPLERS.search(view.name):
        return
    for code, call, dotted in calls(view, "call"):
        child = _child(view, dotted)
        # Under a condition, it may be one that holds in training only.
        if child is None or constant(keyword(call, "training")) is not True or questions(code, call):
            continue
        if code.owner is not None and SAMPLERS.search(code.owner.name):
            continue
        yield Fault(
            f"The source of `{code.said}` calls `{child}` with `training=True` in inference too.",
            call,
            "training=False in inference",
            text_of(call),
            "take `training=None` as an argument of `call` and pass `training=training` on.",
        )


@reads("training-not-forwarded")
def training_not_forwarded(view: ClassView) -> Iterator[Fault]:
    """A model whose `call` has no `training`, with a sublayer that needs it: `fit` leaves it in inference mode."""
    call = view.method("call")
    if call is None or not view.is_model or not view.plain or call.node.args.kwarg is not None or call.decorators:
        return
    if "training" in {p.arg for p in call.parameters} or _trains_otherwise(view):
        return
    for _, node, dotted in calls(view, "call"):
        child = _child(view, dotted)
        if child is not None and keyword(node, "training") is None and all(k.arg for k in node.keywords):
            yield Fault(
                f"The source of `{call.said}` has no argument `training`, so that `{child}` runs in inference mode "
                "during `fit`.",
                node,
                "training=True during fit",
                f"`{signature(call)}`",
                f"write `training=None` in the signature of `call`, and pass `training=training` to `{child}`.",
            )
            return


def _trains_otherwise(view: ClassView) -> bool:
    """Whether the class brings its own way of training or of being called, or is a part of another model."""
    own = any(view.method(name) is not None for name in ("__call__", "train_step", "fit", "_call"))
    return own or f"{LOCAL}{view.name}" in view.file.made
