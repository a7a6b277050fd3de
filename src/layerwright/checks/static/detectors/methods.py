"""Methods whose name or kind isn't what Keras calls."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import CELL_METHODS, LAYER_METHODS, METHODS_ELSEWHERE, MODEL_METHODS, meant_method
from layerwright.checks.static.detector import Fault, reads, signature
from layerwright.checks.static.view import ClassView

ON_MODELS_ONLY = ("train_step", "test_step", "predict_step", "compute_loss", "compute_metrics", "compile", "fit")


@reads("misspelt-method")
def misspelt_method(view: ClassView) -> Iterator[Fault]:
    """A method that is nearly called what Keras calls, while nothing calls this one."""
    known = (*LAYER_METHODS, *(MODEL_METHODS if view.is_model else ()))
    known += CELL_METHODS if "state_size" in view.attributes else ()
    written = {code.name for code in view.methods}
    for name, code in view.own.items():
        meant = meant_method(name, known)
        if meant is None or meant in written or not view.complete or _used(view, name):
            continue
        if name in METHODS_ELSEWHERE and (not view.plain or "torch" in view.file.frameworks):
            continue  # a layer that is a torch module too has a `forward`
        if (not code.own_parameters and meant != "get_config") or code.decorators:
            continue
        yield Fault(
            f"The source of `{view.name}` defines `{name}`, which nothing calls: Keras calls `{meant}`.",
            code.node,
            f"`def {meant}(...)`",
            f"`{signature(code)}`",
            f"rename it to `{meant}`.",
        )


def _used(view: ClassView, name: str) -> bool:
    return name in view.file.attributes_read


@reads("from-config-not-classmethod")
def from_config_not_classmethod(view: ClassView) -> Iterator[Fault]:
    """`from_config` as a method of the instance."""
    code = view.method("from_config")
    if code is None or code.decorators or len(code.parameters) - len(code.defaults) < 2:
        return
    yield Fault(
        f"The source of `{code.said}` has no `@classmethod`: Keras passes the config as `{code.parameters[0].arg}`.",
        code.node,
        "@classmethod above `from_config`",
        f"`{signature(code)}`",
        "write @classmethod above it.",
    )


@reads("call-returns-none")
def call_returns_none(view: ClassView) -> Iterator[Fault]:
    """`call` without any `return` of a value."""
    code = view.method("call")
    if code is None or code.decorators or not isinstance(code.node, ast.FunctionDef) or not _does_something(code.node):
        return
    if not code.own_parameters:
        return
    if any(isinstance(node, ast.Yield | ast.YieldFrom) for node in code.nodes):
        return
    returned = [node.value for node in code.nodes if isinstance(node, ast.Return)]
    if all(value is None or (isinstance(value, ast.Constant) and value.value is None) for value in returned):
        yield Fault(
            f"The source of `{code.said}` returns nothing.",
            code.node,
            "a tensor, or a structure of tensors",
            "None",
            "end `call` with `return` and its result.",
        )


def _does_something(node: ast.FunctionDef) -> bool:
    """Whether a body is more than a placeholder: not only a docstring, `pass`, `...` and a `raise`."""
    real = [
        s
        for s in node.body
        if not isinstance(s, ast.Pass) and not (isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant))
    ]
    return bool(real) and not isinstance(real[-1], ast.Raise)


@reads("layer-should-be-model")
def layer_should_be_model(view: ClassView) -> Iterator[Fault]:
    """A layer with a training step."""
    written = [name for name in ON_MODELS_ONLY if name in view.own]
    if written and view.plain and not view.is_model:
        yield Fault(
            f"The source of `{view.name}` is that of a layer, so Keras never calls its "
            f"{', '.join(f'`{n}`' for n in written)}.",
            view.own[written[0]].node,
            "a subclass of `keras.Model`",
            "a subclass of `keras.layers.Layer`",
            "derive from `keras.Model`, or use `self.add_loss(...)` in `call`.",
        )
