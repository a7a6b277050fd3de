"""Arrays that a layer holds and a file does not."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.reach import reach
from layerwright.checks.static.tensors import PLAIN
from layerwright.checks.static.view import ClassView

COMPUTE = ("keras.ops.", "keras.activations.", "tensorflow.", "jax.numpy.", "jax.nn.", "torch.")
RANDOM = ("numpy.random.", "tensorflow.random.", "keras.random.", "jax.random.", "random.")
DRAWN = frozenset({"normal", "uniform", "rand", "randn", "random", "standard_normal", "truncated_normal", "randint"})


@reads("random-table-in-init")
def random_table_in_init(view: ClassView) -> Iterator[Fault]:
    """A table of random numbers that the constructor draws and `call` reads."""
    for store in view.stores:
        drawn = next((maker for maker in _drawn(store.code, store.value)), None)
        if drawn is None or store.code.name not in ("__init__", "build") or not _is_read_in_call(view, store.name):
            continue
        if view.method("get_config") is None or store.name not in _words(view):
            yield Fault(
                f"The source of `{store.code.said}` draws `self.{store.name}` at random when the layer is made, and "
                "it isn't saved.",
                store.statement,
                "the same numbers in a layer that was loaded",
                text_of(store.statement),
                "use `self.add_weight(..., trainable=False)` in `build`, or draw from a seed that `get_config` "
                "returns.",
            )


def _drawn(code: Code, value: ast.expr | None) -> Iterator[str]:
    """The function that draws, where the value is what it gives, maybe cast or scaled."""
    while isinstance(value, ast.Call):
        dotted = code.dotted(value.func) or ""
        seeded = keyword(value, "seed") is not None
        if dotted.startswith(RANDOM) and names.last(dotted) in DRAWN and not seeded and (value.args or value.keywords):
            yield dotted
            return
        if isinstance(value.func, ast.Attribute) and value.func.attr in ("astype", "reshape"):
            value = value.func.value
        elif names.last(dotted) in ("cast", "convert_to_tensor", "asarray", "array", "constant") and value.args:
            value = value.args[0]
        else:
            return


def _is_read_in_call(view: ClassView, name: str) -> bool:
    from layerwright.checks.static.reach import reach

    nodes = [node for code in reach(view, "call") for node in code.nodes]
    return any(isinstance(n, ast.Attribute) and n.attr == name and isinstance(n.ctx, ast.Load) for n in nodes)


def _words(view: ClassView) -> set[str]:
    """The names and strings in `get_config`."""
    nodes = [n for code in view.chain("get_config") for n in code.nodes]
    return {n.attr for n in nodes if isinstance(n, ast.Attribute)} | {
        n.value for n in nodes if isinstance(n, ast.Constant) and isinstance(n.value, str)
    }


@reads("state-not-saved")
def state_not_saved(view: ClassView) -> Iterator[Fault]:
    """What `adapt` learned, in a plain attribute that `call` reads."""
    adapt = view.method("adapt")
    brought = any(view.method(name) for name in ("save_own_variables", "save_assets", "get_build_config"))
    if adapt is None or not adapt.own_parameters or not view.plain or brought:
        return
    words = {getattr(n, "attr", getattr(n, "value", None)) for code in view.chain("get_config") for n in code.nodes}
    data = adapt.own_parameters[0].arg
    read = {n.attr for code in reach(view, "call") for n in code.nodes if isinstance(n, ast.Attribute)}
    for store in view.stores:
        if store.code is not adapt or store.name not in read or store.name in words or store.value is None:
            continue
        if "self.add_weight" not in {m for s in view.attributes[store.name] for m in s.makers} and _mentions(
            store.value, data
        ):
            yield Fault(
                f"The source of `{adapt.said}` keeps what it learned in `self.{store.name}`, which is neither a "
                "weight nor in the config.",
                store.statement,
                "state that is saved with the model",
                text_of(store.statement),
                "make it a weight with `add_weight(..., trainable=False)`, and assign to it.",
            )


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


@reads("weight-snapshot")
def weight_snapshot(view: ClassView) -> Iterator[Fault]:
    """`self.shares = ops.softmax(self.logits)` in `build`, which `call` uses in place of the weight."""
    read = {n.attr for code in reach(view, "call") for n in code.nodes if isinstance(n, ast.Attribute)}
    for store in view.stores:
        value = store.value
        if (
            store.code.name not in ("__init__", "build")
            or len(view.attributes[store.name]) > 1
            or store.name not in read
        ):
            continue
        if not isinstance(value, ast.Call):
            continue
        computing = store.code.dotted(value.func) or ""
        if not computing.startswith(COMPUTE) or names.last(computing) in PLAIN:
            continue
        idle = [name for name in _values_used(store.code, value) if name in view.weights and name not in read]
        if idle:
            yield Fault(
                f"The source of `{store.code.said}` keeps in `self.{store.name}` what the weight `self.{idle[0]}` "
                "was at that time.",
                store.statement,
                "the weight's present value at every call",
                text_of(store.statement),
                "compute it in `call`.",
            )


def _values_used(code: Code, value: ast.expr) -> Iterator[str]:
    """The attributes of `self` whose values an expression uses, not merely their shape or dtype."""
    for node in ast.walk(value):
        if isinstance(node, ast.Attribute) and (code.dotted(node) or "").startswith("self."):
            outer = code.file.parents.get(node)
            if not isinstance(outer, ast.Attribute):
                yield node.attr
