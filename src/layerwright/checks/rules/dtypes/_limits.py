"""The layer in float16 beside the layer in float32, at inputs where the two can part."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Iterator, Mapping
from typing import Any

import numpy as np

from layerwright.checks.attempt import Skip
from layerwright.checks.facts import ZERO_IN_FLOAT16
from layerwright.checks.feed import Feed, textual
from layerwright.checks.lab import Component, Lab
from layerwright.checks.source import Function

LARGEST = 65504.0


def both(lab: Lab, feed: Feed, training: bool = False) -> tuple[list[np.ndarray], list[np.ndarray]]:
    """Outputs in float32 and under `mixed_float16`, with equal weights."""
    full, half = (lab.in_policy(policy, feed, training) for policy in ("float32", "mixed_float16"))
    if not full.ok and full.skipped is None:
        raise Skip("the layer fails in float32 at these inputs")
    outputs = half.get().outputs
    if any(map(textual, outputs)):
        raise Skip("the outputs aren't numbers")
    return full.get().outputs, [y.astype("float32") for y in outputs]


def with_mask(lab: Lab) -> Feed | None:
    """The subject's own inputs with a mask that ends one step early, where `call` takes one for a batch of sequences."""
    first = lab.feed.args[0] if len(lab.feed.args) == 1 else None
    takes = lab.components and "mask" in parameters(lab.components[0].layer.call)
    if (
        not takes
        or "mask" in lab.feed.kwargs
        or not isinstance(first, np.ndarray)
        or first.ndim < 3
        or first.shape[1] < 2
    ):
        return None
    mask = np.ones(first.shape[:2], bool)
    mask[:, -1] = False
    return lab.feed.with_keywords(mask=mask)


def parameters(function: Any) -> Mapping[str, Any]:
    """The parameters of a function by name; none where they can't be read."""
    try:
        return inspect.signature(function).parameters
    except (TypeError, ValueError):
        return {}


def tiny(lab: Lab) -> Iterator[tuple[Component, Function, ast.AST, float]]:
    """Numbers in what `call` reaches that are zero in float16: literals, and float attributes that it reads."""
    for component in lab.components:
        attributes = {k: v for k, v in vars(component.layer).items() if isinstance(v, float)}
        for function in component.source.reachable("call"):
            for node in function.walk():
                value = None
                if isinstance(node, ast.Constant) and isinstance(node.value, float):
                    value = node.value
                elif (
                    isinstance(node, ast.Attribute) and function.resolve(node.value, component.layer) is component.layer
                ):
                    value = attributes.get(node.attr)
                if value is not None and 0.0 < abs(value) < ZERO_IN_FLOAT16:
                    yield component, function, node, value
