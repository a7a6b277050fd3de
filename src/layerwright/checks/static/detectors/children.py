"""Sublayers: built too late, in another dtype, or used behind their back."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import WITH_WEIGHTS
from layerwright.checks.source import keyword, text_of
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.reach import calls, reach
from layerwright.checks.static.stores import Store
from layerwright.checks.static.view import ClassView


@reads("child-unbuilt-after-build")
def child_unbuilt_after_build(view: ClassView) -> Iterator[Fault]:
    """A sublayer with weights that `call` uses and the class's own `build` never touches."""
    build = view.method("build")
    if build is None or not view.plain or view.is_model or build.decorators:
        return
    if not _is_understood(view, build):
        return
    used = {dotted for _, _, dotted in calls(view, "call") if dotted}
    stored = {s.name for s in view.stores if s.code.name == "__init__"}
    left = [
        n for n, made in view.children.items() if n in stored and f"self.{n}" in used and all(map(_has_weights, made))
    ]
    left = [name for name in left if len(view.attributes[name]) == 1 and not _is_touched(view, name)]
    if left:
        attributes = ", ".join(f"`self.{name}`" for name in left)
        yield Fault(
            f"The source of `{build.said}` leaves {attributes} unbuilt, so that loading a file loses the weights.",
            build.node,
            "after `build` alone, every variable that a call uses",
            "variables that only the first call makes",
            f"call `self.{left[0]}.build(...)` in `build` with the shape that it will see.",
        )


def _is_understood(view: ClassView, build: Code) -> bool:
    """Whether a `build` does nothing but make weights: it reaches no sublayer in a way that can't be followed."""
    allowed = {"self.add_weight", "super.build"}
    for code in build.everything():
        for node in code.nodes:
            if isinstance(node, ast.Call):
                dotted = code.dotted(node.func) or ""
                if dotted not in allowed and names.root(dotted) not in ("builtins", "keras", "math", "numpy"):
                    return False
            elif isinstance(node, ast.Name) and node.id == code.self_name:
                outer = view.file.parents.get(node)
                if not isinstance(outer, ast.Attribute) or outer.attr in view.children:
                    return False
    brought = ("get_build_config", "build_from_config", "load_own_variables")
    return not any(view.method(name) for name in brought)


def _is_touched(view: ClassView, name: str) -> bool:
    """Whether anything but what `call` runs reads an attribute: it may build the sublayer."""
    in_call = set(reach(view, "call", "get_config"))
    others = (code for method in view.methods for code in method.everything() if code not in in_call)
    nodes = (
        (code, n) for code in others for n in code.nodes if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)
    )
    return any(code.dotted(node) == f"self.{name}" for code, node in nodes)


def _has_weights(dotted: str) -> bool:
    return dotted.startswith("keras.layers.") and names.last(dotted) in WITH_WEIGHTS - {
        "Attention",
        "AdditiveAttention",
    }


@reads("child-dtype")
def child_dtype(view: ClassView) -> Iterator[Fault]:
    """A sublayer with weights that is made without a dtype, in a layer that takes one."""
    init = view.method("__init__")
    if view.is_model or not view.plain or init is None or not _takes_dtype(view):
        return
    strays = [
        s
        for s in view.stores
        if s.code.name in ("__init__", "build") and s.name in view.children and _is_stray(view, s)
    ]
    if strays:
        listed = ", ".join(f"`self.{name}`" for name in dict.fromkeys(s.name for s in strays))
        yield Fault(
            f"The source of `{strays[0].code.said}` makes {listed} without the dtype policy that `{view.name}` is "
            "given.",
            strays[0].statement,
            "sublayers that compute in the dtype of their parent",
            text_of(strays[0].statement),
            "pass `dtype=self.dtype_policy` to every sublayer.",
        )


def _takes_dtype(view: ClassView) -> bool:
    """Whether a caller's `dtype` reaches the base class: by `**kwargs`, or by its own name."""
    init = view.method("__init__")
    if init is None:
        return True
    passed = {p.arg for p in init.own_parameters if init.reads(p.arg)}
    kwargs = init.node.args.kwarg
    return "dtype" in passed or (kwargs is not None and init.reads(kwargs.arg))


def _is_stray(view: ClassView, store: Store) -> bool:
    call = store.value
    if not isinstance(call, ast.Call) or not all(_has_weights(maker) for maker in view.children[store.name]):
        return False
    return keyword(call, "dtype") is None and all(k.arg for k in call.keywords)


@reads("child-weight-bypass")
def child_weight_bypass(view: ClassView) -> Iterator[Fault]:
    """`self.proj.kernel` in `call`, where `self.proj` itself is never called."""
    seen: set[str] = set()
    for code, call, _ in calls(view, "call"):
        for node in (inner for given in call.args for inner in ast.walk(given)):
            if not isinstance(node, ast.Attribute):
                continue
            name, member = names.on_attribute(code.dotted(node))
            if member != "kernel" or name in seen:
                continue
            made = view.children.get(name, frozenset())
            ours = bool(made) and all(maker.startswith("keras.layers.") for maker in made)
            if ours and f"self.{name}" not in view.called:
                seen.add(name)
                yield Fault(
                    f"The source of `{code.said}` computes with `self.{name}.{member}` itself and never calls "
                    f"`self.{name}`.",
                    node,
                    f"self.{name}(...)",
                    text_of(call),
                    f"call `self.{name}`: quantized or adapted, its weights mean nothing by themselves.",
                )


@reads("direct-call-method")
def direct_call_method(view: ClassView) -> Iterator[Fault]:
    """`self.child.call(x)` in place of `self.child(x)`."""
    for code, call, dotted in calls(view, "call"):
        name, method = names.on_attribute(dotted)
        if method == "call" and name in view.children:
            yield Fault(
                f"The source of `{code.said}` runs `self.{name}` through its method `call`, and doesn't call it.",
                call,
                f"self.{name}(...)",
                text_of(call),
                "leave `.call` out.",
            )
