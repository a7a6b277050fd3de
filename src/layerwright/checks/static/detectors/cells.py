"""Recurrent cells."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.source import text_of
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.tensors import tensors
from layerwright.checks.static.view import ClassView


def is_cell(view: ClassView) -> bool:
    """Whether a class is a recurrent cell: it has a `state_size`, and is called with inputs and states."""
    call = view.method("call")
    sized = "state_size" in view.attributes or view.method("state_size") is not None
    return (
        sized and call is not None and len(call.own_parameters) >= 2 and call.own_parameters[1].arg.startswith("state")
    )


@reads("cell-initial-state-signature")
def cell_initial_state_signature(view: ClassView) -> Iterator[Fault]:
    """A `get_initial_state` that can't be called with the batch size alone."""
    code = view.method("get_initial_state")
    if code is None or not is_cell(view) or code.decorators:
        return
    takes = code.node.args.kwarg is not None or "batch_size" in {p.arg for p in code.own_parameters}
    others = [name for name in code.required if name != "batch_size"]
    if not takes or others:
        yield Fault(
            f"The source of `{code.said}` can't be called with `batch_size` alone, as Keras calls it.",
            code.node,
            "def get_initial_state(self, batch_size=None)",
            f"`{signature(code)}`",
            "write `def get_initial_state(self, batch_size=None)`, and take the dtype from `self.compute_dtype`.",
        )


@reads("cell-return")
def cell_return(view: ClassView) -> Iterator[Fault]:
    """A cell that returns its output alone."""
    code = view.method("call")
    if code is None or not is_cell(view) or code.decorators or code not in tensors(view):
        return
    returned = [node for node in code.nodes if isinstance(node, ast.Return) and node.value is not None]
    bare = [
        r
        for r in returned
        if isinstance(r.value, ast.Call | ast.BinOp) and tensors(view)[code].kind(r.value) == "values"
    ]
    if returned and len(bare) == len(returned):
        yield Fault(
            f"The source of `{code.said}` returns its output alone, without the new states.",
            bare[0],
            "(output, new_states)",
            text_of(bare[0]),
            "return the output and a list of the new states: `return h, [h]`.",
        )
