"""Attributes that are set too early, or under a name that Keras uses itself."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import KEPT_FOR, READ_ONLY, READ_ONLY_OF_MODELS, RESET_BY_INIT
from layerwright.checks.source import text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.detectors.constructors import super_calls
from layerwright.checks.static.guards import always
from layerwright.checks.static.view import ClassView


def own_init(view: ClassView) -> Code | None:
    """The constructor that the class statement itself has, where Keras' constructors stand behind it."""
    init = view.own.get("__init__")
    return init if init is not None and view.complete and not init.decorators else None


@reads("no-super-init")
def no_super_init(view: ClassView) -> Iterator[Fault]:
    """A constructor that never calls the base class's."""
    init = own_init(view)
    if init is None or isinstance(getattr(init.node, "body", [None])[-1], ast.Raise) or _hands_itself_on(init):
        return
    if not super_calls(init):
        yield Fault(
            f"The source of `{init.said}` never calls `super().__init__()`.",
            init.node,
            "`super().__init__(**kwargs)` as the first statement",
            f"`{signature(init)}` without it",
            "add `super().__init__(**kwargs)` at the top of `__init__`.",
        )


def _hands_itself_on(init: Code) -> bool:
    """Whether a constructor gives `self` away, or runs a method of its own: that may call the base's constructor."""
    for call in (c for code in init.everything() for c in code.calls):
        dotted = init.dotted(call.func) or ""
        given = [*call.args, *(k.value for k in call.keywords)]
        if dotted.startswith(("self.", "super.")) or any(init.dotted(value) in ("self", "super") for value in given):
            return True
    return False


@reads("attribute-before-super")
def attribute_before_super(view: ClassView) -> Iterator[Fault]:
    """Something that `Layer.__init__` resets or needs, above the call of it."""
    init = own_init(view)
    found = super_calls(init) if init is not None else []
    if init is None or len(found) != 1 or not always(init, found[0]):
        return
    early = [
        s for s in view.stores if s.code is init and s.statement.lineno < found[0].lineno and always(init, s.statement)
    ]
    for store in early:
        if store.name in RESET_BY_INIT and not _set_again(view, init, store.name, found[0].lineno):
            yield Fault(
                f"The source of `{init.said}` sets `self.{store.name}` before `super().__init__()`, which resets it.",
                store.node,
                "`super().__init__(**kwargs)` as the first statement",
                text_of(store.statement),
                f"set `self.{store.name}` after `super().__init__(**kwargs)`.",
            )
    first = next((s for s in early if s.name in view.children and s.makers), None)
    if first is not None:
        yield Fault(
            f"The source of `{init.said}` assigns the layer `self.{first.name}` before `super().__init__()`.",
            first.node,
            "`super().__init__(**kwargs)` as the first statement",
            "an order that raises on PyTorch",
            "move `super().__init__(**kwargs)` to the top of `__init__`.",
            "warning",
        )


def _set_again(view: ClassView, init: Code, name: str, line: int) -> bool:
    return any(s.name == name and (s.code is not init or s.statement.lineno > line) for s in view.stores)


@reads("reserved-attribute")
def reserved_attribute(view: ClassView) -> Iterator[Fault]:
    """`self.name = ...` under the name of a property that can't be set, or of Keras' own account."""
    if not view.complete:
        return
    read_only = READ_ONLY | (READ_ONLY_OF_MODELS if view.is_model else frozenset())
    defined = {name for member in view.lineage for name in (*member.own, *_class_names(member.node))}
    for name, stored in view.attributes.items():
        if name in defined:
            continue
        if name in read_only:
            yield _reserved(stored[0].code, stored[0].node, "a read-only property of Keras", "an AttributeError")
        elif name in KEPT_FOR and view.plain:
            yield _reserved(
                stored[0].code,
                stored[0].node,
                f"where Keras keeps {KEPT_FOR[name]}",
                "Keras works with the wrong value",
            )


def _class_names(node: ast.ClassDef) -> Iterator[str]:
    for statement in node.body:
        targets = statement.targets if isinstance(statement, ast.Assign) else []
        yield from (target.id for target in targets if isinstance(target, ast.Name))


def _reserved(code: Code, node: ast.Attribute, used: str, effect: str) -> Fault:
    return Fault(
        f"The source of `{code.said}` sets `self.{node.attr}`, which is {used}.",
        node,
        "a name that Keras doesn't use",
        effect,
        f"rename it, for instance to `self.my_{node.attr.strip('_')}`.",
    )


@reads("built-set-early")
def built_set_early(view: ClassView) -> Iterator[Fault]:
    """`self.built = True` in the constructor of a layer whose own `build` makes weights."""
    init, build = view.method("__init__"), view.method("build")
    if init is None or build is None or not view.complete or not _makes_weights(view, build):
        return
    if any(init.dotted(call.func) in ("self.build", "self") for call in init.calls):
        return
    for store in view.stores:
        true = isinstance(store.value, ast.Constant) and store.value.value is True
        if store.name == "built" and store.code is init and true and always(init, store.statement):
            yield Fault(
                f"The source of `{init.said}` sets `built = True` before `build` has run, so that Keras never calls "
                "it.",
                store.statement,
                "the weights that `build` makes",
                text_of(store.statement),
                "delete the line: Keras sets `built` itself after `build`.",
            )


def _makes_weights(view: ClassView, build: Code) -> bool:
    makes = any(build.dotted(call.func) == "self.add_weight" for call in build.calls)
    elsewhere = any("self.add_weight" in s.makers and s.code is not build for s in view.stores)
    return makes and not elsewhere
