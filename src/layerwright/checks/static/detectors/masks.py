"""Masks: asked for in vain, never looked at, or taken for granted."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import constant, text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.detectors.rows import axis_of, reduces
from layerwright.checks.static.tensors import traced
from layerwright.checks.static.view import ClassView


@reads("compute-mask-none")
def compute_mask_none(view: ClassView) -> Iterator[Fault]:
    """`compute_mask` that takes a part of the mask and never asks whether there is one."""
    code = view.method("compute_mask")
    if code is None or code.decorators or len(code.own_parameters) < 2:
        return
    mask = code.own_parameters[1].arg
    part = next((n for n in code.nodes if isinstance(n, ast.Subscript) and _is(n.value, mask)), None)
    if part is not None and not _asked(code, mask):
        yield Fault(
            f"The source of `{code.said}` takes a part of `{mask}`, which is None where there is no mask.",
            part,
            "None for a mask that is None",
            ast.unparse(part),
            f"begin with `if {mask} is None: return None`.",
        )


def _asked(code: Code, name: str) -> bool:
    """Whether a function asks anything about a name, or gives it a value of its own."""
    conditional = (ast.If, ast.IfExp, ast.While, ast.Assert)
    tests: list[ast.AST] = [n.test for n in code.nodes if isinstance(n, conditional)]
    tests += [n for n in code.nodes if isinstance(n, ast.BoolOp | ast.comprehension | ast.Try | ast.Compare)]
    return len(code.bound[name]) > 1 or any(_is(inner, name) for test in tests for inner in ast.walk(test))


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


@reads("mask-ignored")
def mask_ignored(view: ClassView) -> Iterator[Fault]:
    """A mean over time in a layer that takes a mask and never looks at it."""
    call = view.method("call")
    if call is None or call.reads("mask") or not _claims_masks(view):
        return
    if "mask" not in {p.arg for p in call.own_parameters}:
        return
    for code, known in traced(view):
        for node in code.calls if code is call else ():
            axis = axis_of(node)
            if reduces(known, node) and axis is not None and constant(axis) == 1:
                yield Fault(
                    f"The source of `{code.said}` takes `{text_of(node)}` over all steps, the masked ones too, and "
                    "never looks at `mask`.",
                    node,
                    "an output that doesn't change with the values at masked steps",
                    text_of(node),
                    "weigh the steps with `mask`, and divide by their number where it is a mean.",
                )


def _claims_masks(view: ClassView) -> bool:
    """Whether a class says that it understands masks."""
    said = any(constant(store.value) is True for store in view.attributes.get("supports_masking", []))
    return said or view.method("compute_mask") is not None


@reads("mask-arg-never-filled")
def mask_arg_never_filled(view: ClassView) -> Iterator[Fault]:
    """`call(self, x, x_mask=None)`: for one tensor argument, Keras fills `mask` and nothing else."""
    call = view.method("call")
    if call is None or call.decorators or len(call.required) != 1 or call.node.args.vararg or call.node.args.kwarg:
        return
    if not _claims_masks(view):
        return
    tensor = call.required[0]
    for name, default in call.defaults.items():
        others = set(call.defaults) - {name, "training"}
        meant = name in (f"{tensor}_mask", "masks", "input_mask", "inputs_mask") and constant(default) is None
        if meant and not others and call.reads(name) and name not in view.file.keywords:
            yield Fault(
                f"The source of `{call.said}` has an argument `{name}`, which Keras never fills for one tensor "
                "argument.",
                call.node,
                "mask",
                name,
                f"rename `{name}` to `mask`.",
            )
