"""Constructor arguments that a round trip through a config changes."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import BASE_ARGUMENTS
from layerwright.checks.source import text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.config_keys import keys_of
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.detectors.constructors import super_calls, takes_graph
from layerwright.checks.static.reach import reach
from layerwright.checks.static.stores import Store
from layerwright.checks.static.view import ClassView

CHANGES = (ast.Add, ast.Sub, ast.Mult, ast.Div, ast.FloorDiv, ast.Pow)
NEUTRAL = (0, 1)
# What `Layer.__init__` takes of a config.
BASE_KEYS = {*BASE_ARGUMENTS, "activity_regularizer", "autocast", "input_shape", "input_dim"}


def _from_argument(view: ClassView) -> Iterator[Store]:
    """The attributes that are made of an argument of the same name, and that the config returns as they are."""
    init, keys = view.method("__init__"), keys_of(view)
    if init is None or keys is None or view.method("from_config") is not None or not view.plain:
        return
    for name, value in keys.values.items():
        stored = view.attributes.get(name, [])
        one = len(stored) == 1 and stored[0].code is init and len(init.bound.get(name, ())) == 1
        if one and keys.code.dotted(value) == f"self.{name}":
            yield stored[0]


@reads("config-not-idempotent")
def config_not_idempotent(view: ClassView) -> Iterator[Fault]:
    """`self.rate = 2 * rate`, where the config holds `self.rate`."""
    for store in _from_argument(view):
        value = store.value
        if not isinstance(value, ast.BinOp) or not isinstance(value.op, CHANGES):
            continue
        sides = [value.left, value.right]
        argument = any(isinstance(side, ast.Name) and side.id == store.name for side in sides)
        numbers = [
            side.value for side in sides if isinstance(side, ast.Constant) and isinstance(side.value, int | float)
        ]
        if argument and len(numbers) == 1 and (numbers[0] not in NEUTRAL or _changes(value)):
            yield Fault(
                f"The source of `{store.code.said}` changes `{store.name}`, and the config holds what became of it: "
                "each round trip changes it again.",
                store.statement,
                f"the argument `{store.name}` as it was given",
                text_of(store.statement),
                f"keep the argument in `self.{store.name}`, and what is computed from it under another name.",
            )


def _changes(value: ast.BinOp) -> bool:
    """Whether an operation with 0 or 1 changes a number after all: `1 - rate`, `rate + 1`."""
    right = isinstance(value.right, ast.Constant) and value.right.value
    left = isinstance(value.left, ast.Constant) and value.left.value
    return isinstance(value.op, ast.Add | ast.Sub) and (right == 1 or left == 1) and (right != 0 or left == 1)


@reads("config-json-type")
def config_json_type(view: ClassView) -> Iterator[Fault]:
    """`(-1,) + self.size`, where `self.size` comes back from a file as a list."""
    raw = {s.name: s for s in _from_argument(view) if isinstance(s.value, ast.Name) and s.value.id == s.name}
    for code in reach(view, "build", "call", "compute_output_shape"):
        for node in code.nodes:
            if not isinstance(node, ast.BinOp) or not isinstance(node.op, ast.Add):
                continue
            for literal, other in ((node.left, node.right), (node.right, node.left)):
                name = (code.dotted(other) or "").removeprefix("self.")
                if isinstance(literal, ast.Tuple) and name in raw and code.dotted(other) == f"self.{name}":
                    yield Fault(
                        f"The source of `{code.said}` adds `self.{name}` to a tuple; in a loaded layer it is a list.",
                        node,
                        f"`{name}` as a tuple, whatever it was given as",
                        text_of(node),
                        f"write `self.{name} = tuple({name})` in `__init__`.",
                    )


@reads("config-extra-key")
def config_extra_key(view: ClassView) -> Iterator[Fault]:
    """A key in the config that the constructor doesn't take."""
    init, keys = view.method("__init__"), keys_of(view)
    if init is None or keys is None or not view.plain or view.is_abstract or view.method("from_config") is not None:
        return
    taken = {parameter.arg for parameter in init.own_parameters} | BASE_KEYS
    extra = sorted(keys.names - taken)
    forwards = init.node.args.kwarg is not None and _filters(init)
    if extra and not forwards and len(view.chain("__init__")) == 1 and not takes_graph(init):
        names_taken = ", ".join(f"`{p.arg}`" for p in init.own_parameters) or "none of its own"
        yield Fault(
            f"The source of `{keys.code.said}` returns `{extra[0]}`, which `__init__` doesn't take.",
            keys.values[extra[0]],
            f"keys that the constructor takes: {names_taken}",
            ", ".join(f"`{key}`" for key in extra),
            f"take `{extra[0]}` in `__init__`, or leave it out of the config.",
        )


def _filters(init: Code) -> bool:
    """Whether a constructor does more with `**kwargs` than to pass them on, so that it may take a key out."""
    name = init.node.args.kwarg.arg if init.node.args.kwarg is not None else ""
    uses = [n for code in init.everything() for n in code.nodes if isinstance(n, ast.Name) and n.id == name]
    passed = [k.value for call in super_calls(init) for k in call.keywords if k.arg is None]
    return any(use not in passed for use in uses)


@reads("auto-config-name-lost")
def auto_config_name_lost(view: ClassView) -> Iterator[Fault]:
    """`**options` in place of `**kwargs`, in a layer without a `get_config`."""
    init = view.method("__init__")
    if init is None or not view.plain or view.is_model or view.method("get_config") is not None:
        return
    if init.node.args.vararg is not None or init.node.args.posonlyargs[1:]:
        return  # no automatic config at all
    collected = init.node.args.kwarg
    if collected is not None and collected.arg != "kwargs" and "name" not in {p.arg for p in init.own_parameters}:
        yield Fault(
            f"The source of `{init.said}` calls its `**kwargs` `**{collected.arg}`, so that the automatic config "
            "leaves out `name`.",
            init.node,
            "`name` in the automatic config",
            signature(init),
            f"rename `**{collected.arg}` to `**kwargs`.",
        )
