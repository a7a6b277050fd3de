"""The arguments of `build` and of `compute_output_shape`, and what they are taken for."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import INSTEAD_OF_SHAPE
from layerwright.checks.source import text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.view import ClassView


@reads("build-signature")
def build_signature(view: ClassView) -> Iterator[Fault]:
    """Arguments of `build` that don't fit those of `call`."""
    call = view.method("call")
    if call is None or call.decorators or call.node.args.vararg is not None or call.node.args.kwarg is not None:
        return
    for name in ("build", "compute_output_shape"):
        code = view.method(name)
        if code is None or code.decorators or code.self_name is None:
            continue
        wanted = {f"{parameter.arg}_shape" for parameter in call.own_parameters}
        given = [parameter.arg for parameter in code.own_parameters]
        strange = [n for n in given if n not in wanted] if len(given) > 1 else []
        nothing = name == "build" and not given and code.node.args.vararg is None and code.node.args.kwarg is None
        if (strange and not _calls_it_itself(view, name)) or nothing:
            right = ", ".join(f"{p.arg}_shape" for p in call.own_parameters if p.arg not in ("training", "mask"))
            yield Fault(
                f"The source of `{code.said}` has arguments that don't fit `{signature(call).removeprefix('def ')}`.",
                code.node,
                "for each argument of `call`, its name with `_shape` behind it, or a single argument for the first",
                f"the argument `{strange[0]}`" if strange else "no argument",
                f"write `def {name}(self, {right or 'input_shape'})`.",
            )


def _calls_it_itself(view: ClassView, name: str) -> bool:
    """Whether the file calls the method with arguments of its own, so that Keras may never do it."""
    if name != "build":
        return name in view.file.attributes_read or view.method("compute_output_spec") is not None
    written = (c for code in view.file.codes.values() for c in code.calls if isinstance(c.func, ast.Attribute))
    return any(c.func.attr == name and len(c.args) + len(c.keywords) > 1 for c in written)  # type: ignore[attr-defined]


@reads("shape-is-a-tuple")
def shape_is_a_tuple(view: ClassView) -> Iterator[Fault]:
    """A shape that is asked for what a `TensorShape` had."""
    for name in ("build", "compute_output_shape"):
        code = view.method(name)
        if code is None or not code.own_parameters:
            continue
        shape = code.own_parameters[0].arg
        if len(code.bound[shape]) > 1:
            continue
        for node in code.nodes:
            if not isinstance(node, ast.Attribute) or node.attr not in INSTEAD_OF_SHAPE:
                continue
            whole = _is(node.value, shape) and node.attr != "value"
            part = node.attr == "value" and isinstance(node.value, ast.Subscript) and _is(node.value.value, shape)
            if (whole or part) and not _asked_first(code, node):
                yield Fault(
                    f"The source of `{code.said}` asks a shape for `.{node.attr}`, which it doesn't have: "
                    + ("it is a plain tuple." if whole else "the sizes in it are plain numbers."),
                    node,
                    "a tuple of whole numbers and None",
                    text_of(node),
                    f"write {INSTEAD_OF_SHAPE[node.attr]}.",
                )
                break


def _asked_first(code: Code, node: ast.AST) -> bool:
    conditional = (ast.If, ast.IfExp, ast.Try, ast.BoolOp)
    return any(isinstance(outer, conditional) for outer, _ in code.around(node))


def _is(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
