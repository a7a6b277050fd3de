"""Weights and sublayers that nothing uses, or that are used in no certain order."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import constant, keyword, text_of
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.view import ClassView


@reads("unused-weight")
def unused_weight(view: ClassView) -> Iterator[Fault]:
    """A trainable weight that nothing in the file reads."""
    if (
        view.method("call") is None
        or not view.plain
        or {"weights", "trainable_weights", "trainable_variables"} & view.file.attributes_read
    ):
        return
    for store in view.stores:
        if (
            store.makers != {"self.add_weight"}
            or not isinstance(store.value, ast.Call)
            or store.name in view.file.attributes_read
        ):
            continue
        said = keyword(store.value, "trainable")
        if (
            (said is None or constant(said) is True)
            and all(k.arg for k in store.value.keywords)
            and not _looks_up(view)
        ):
            yield Fault(
                f"The source of `{store.code.said}` makes the weight `self.{store.name}`, which nothing reads.",
                store.statement,
                "weights that `call` uses",
                text_of(store.statement),
                f"use `self.{store.name}` in `call`, or leave it out.",
            )


def _looks_up(view: ClassView) -> bool:
    """Whether the class reaches attributes by names that are computed."""
    return bool({"builtins.getattr", "builtins.vars"} & view.called) or "__dict__" in view.file.attributes_read


@reads("unused-sublayer")
def unused_sublayer(view: ClassView) -> Iterator[Fault]:
    """A sublayer that nothing in the file reads."""
    everywhere = {"layers", "_layers", "_flatten_layers", "modules", "children"} & view.file.attributes_read
    if view.method("call") is None or not view.plain or everywhere or _looks_up(view):
        return
    for name, made in view.children.items():
        first = view.attributes[name][0]
        known = all(maker.startswith("keras.layers.") for maker in made)
        if known and name not in view.file.attributes_read and first.code.name in ("__init__", "build"):
            yield Fault(
                f"The source of `{first.code.said}` makes the sublayer `self.{name}`, which nothing reads.",
                first.statement,
                "a call of every sublayer, in training or in inference",
                text_of(first.statement),
                f"call it in `call`, or delete `self.{name}`.",
            )


@reads("unordered-weights")
def unordered_weights(view: ClassView) -> Iterator[Fault]:
    """Layers in a set."""
    for store in view.stores:
        items = store.value.elts if isinstance(store.value, ast.Set) else []
        makers = [store.code.dotted(item.func) for item in items if isinstance(item, ast.Call)]
        if len([maker for maker in makers if view.layer_class(maker) or maker == "self.add_weight"]) > 1:
            yield Fault(
                f"The source of `{store.code.said}` keeps layers or weights in a set, `self.{store.name}`, whose "
                "order differs "
                "between processes.",
                store.statement,
                "the same order in every process",
                "the order of hash values",
                "use a list.",
            )
