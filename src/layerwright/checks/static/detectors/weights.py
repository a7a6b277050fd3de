"""Weights: how they are made, and whether they are used."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.old_weights import TAKEN, by_keyword, dropped, is_text
from layerwright.checks.source import constant, keyword, text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.view import ClassView

ADD_WEIGHT = frozenset(f"{owner}.{name}" for owner in ("self", "super") for name in ("add_weight", "add_variable"))
NATIVE = {"tensorflow.Variable": "tf.Variable", "torch.nn.Parameter": "torch.nn.Parameter"}


def own_weights(view: ClassView) -> Iterator[tuple[Code, ast.Call]]:
    """Every call of `self.add_weight` in the class, in its own methods and in those that it inherits in the file."""
    if view.method("add_weight") is not None:
        return
    for method in view.methods:
        for code in method.everything():
            yield from ((code, call) for call in code.calls if code.dotted(call.func) in ADD_WEIGHT)


@reads("legacy-add-weight")
def legacy_add_weight(view: ClassView) -> Iterator[Fault]:
    """`add_weight` as Keras 2 took it: the name first, or arguments that are gone."""
    for code, call in own_weights(view):
        first = call.args[0] if call.args else None
        gone = dropped(call)
        if first is not None and (is_text(first) or keyword(call, "shape") is not None):
            twice = not is_text(first)
            written = by_keyword(call)
            yield Fault(
                f"The source of `{code.said}` "
                + (
                    "gives `add_weight` a shape twice."
                    if twice
                    else "passes a weight's name to `add_weight` as its shape."
                ),
                call,
                "`add_weight(shape=..., ...)`" if twice else f"`add_weight({', '.join(written)}, ...)`",
                f"`{text_of(call)}`",
                "pass the shape once." if twice else f"write `{written[0]}`.",
            )
        elif gone:
            yield Fault(
                f"The source of `{code.said}` passes `{gone[0]}` to `add_weight`, which no longer takes it.",
                call,
                TAKEN,
                ", ".join(f"`{name}`" for name in gone),
                f"leave `{gone[0]}` out.",
            )


@reads("int-trainable")
def int_trainable(view: ClassView) -> Iterator[Fault]:
    """A weight of whole numbers that isn't said to be untrainable."""
    for code, call in own_weights(view):
        dtype = constant(keyword(call, "dtype"))
        said = keyword(call, "trainable")
        whole = isinstance(dtype, str) and dtype.startswith(("int", "uint", "bool"))
        if whole and (constant(said) is True or (said is None and all(k.arg for k in call.keywords))):
            yield Fault(
                f"The source of `{code.said}` makes a trainable weight of dtype {dtype}, which has no gradient.",
                call,
                "trainable=False, or a dtype of floating-point numbers",
                text_of(call),
                "write `trainable=False`.",
            )


@reads("native-variable")
def native_variable(view: ClassView) -> Iterator[Fault]:
    """`self.scale = tf.Variable(...)`."""
    for store in view.stores:
        made = next((NATIVE[maker] for maker in store.makers if maker in NATIVE), None)
        if made is not None and store.code.name in ("__init__", "build"):
            yield Fault(
                f"The source of `{store.code.said}` makes `self.{store.name}` as a {made}, which Keras neither "
                "trains nor saves.",
                store.statement,
                "a weight among `layer.weights`",
                text_of(store.statement),
                "make it with `self.add_weight(...)`.",
            )
