"""Training steps of models."""

from __future__ import annotations

import ast
from collections.abc import Iterator

from layerwright.checks.facts import GONE_FROM_TRAINING
from layerwright.checks.source import constant, text_of
from layerwright.checks.static.code import Code
from layerwright.checks.static.detector import Fault, reads
from layerwright.checks.static.reach import reach
from layerwright.checks.static.view import ClassView

STEPS = ("train_step", "test_step")
APPLYING = frozenset({"apply_gradients", "apply"})
SCALING = frozenset({"scale_loss", "get_scaled_loss", "get_unscaled_gradients", "LossScaleOptimizer"})


def attributes(view: ClassView, *methods: str) -> Iterator[tuple[Code, ast.Attribute]]:
    """Every attribute that the methods reach."""
    for code in reach(view, *methods):
        yield from ((code, node) for node in code.nodes if isinstance(node, ast.Attribute))


@reads("deprecated-train-step")
def deprecated_train_step(view: ClassView) -> Iterator[Fault]:
    """`compiled_loss` and the like, which Keras 3 has no longer."""
    if not view.is_model:
        return
    seen: set[str] = set()
    for code, node in attributes(view, *STEPS):
        name = node.attr
        owner = code.dotted(node.value) or ""
        right = owner == "self" if name.startswith("compiled") else owner == "self.optimizer"
        if name not in GONE_FROM_TRAINING or name in seen or not right or name in view.attributes or view.method(name):
            continue
        seen.add(name)
        yield Fault(
            f"The source of `{code.said}` uses `{owner}.{name}`, which Keras 3 has no longer.",
            node,
            GONE_FROM_TRAINING[name].strip("`"),
            f"{owner}.{name}",
            f"write {GONE_FROM_TRAINING[name]}.",
        )


@reads("no-loss-scaling")
def no_loss_scaling(view: ClassView) -> Iterator[Fault]:
    """A training step that applies gradients and never scales the loss."""
    step = view.method("train_step")
    if step is None or not view.is_model:
        return
    used = list(attributes(view, "train_step"))
    applied = [node for code, node in used if node.attr in APPLYING and code.dotted(node.value) == "self.optimizer"]
    if applied and not SCALING & {node.attr for _, node in used} and not SCALING & view.file.attributes_read:
        yield Fault(
            f"The source of `{step.said}` applies gradients of a loss that wasn't scaled, so that updates are "
            "thousands of times too "
            "small under `mixed_float16`.",
            applied[0],
            "loss = self.optimizer.scale_loss(loss)",
            "the gradients of the loss itself",
            "write `loss = self.optimizer.scale_loss(loss)` before the gradients are taken.",
        )


@reads("batch-unpack")
def batch_unpack(view: ClassView) -> Iterator[Fault]:
    """`x, y = data` in a training step."""
    for step in filter(None, map(view.method, STEPS if view.is_model else ())):
        data = step.own_parameters[0].arg if step.own_parameters else ""
        if not data or _is_careful(step, data):
            continue
        node = _pair(step, data)
        if node is not None:
            yield Fault(
                f"The source of `{step.said}` takes a batch apart as a pair, which fails with `sample_weight`."
                if isinstance(node, ast.Assign)
                else f"The source of `{step.said}` takes the first two parts of a batch, and loses `sample_weight`.",
                node,
                "x, y, sample_weight",
                text_of(node),
                "write `x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)` and pass `sample_weight` on.",
            )


def _is_careful(step: Code, data: str) -> bool:
    """Whether a step asks how many parts there are."""
    asked = (ast.Match, ast.Try, ast.If, ast.IfExp)
    return any(isinstance(n, asked) and data in ast.unparse(getattr(n, "test", n)) for n in step.nodes)


def _pair(step: Code, data: str) -> ast.expr | ast.stmt | None:
    indices: dict[object, ast.expr] = {}
    for node in step.nodes:
        whole = isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == data
        if isinstance(node, ast.Assign) and whole and any(map(_is_pair, node.targets)):
            return node
        if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == data:
            index = constant(node.slice)
            indices.setdefault(index if isinstance(index, int) else "other", node)
    return indices[1] if set(indices) == {0, 1} else None


def _is_pair(target: ast.expr) -> bool:
    pair = isinstance(target, ast.Tuple | ast.List) and len(target.elts) == 2
    return pair and not any(isinstance(e, ast.Starred) for e in target.elts)  # type: ignore[attr-defined]
