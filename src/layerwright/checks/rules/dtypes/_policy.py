"""Why an output isn't in the compute dtype: constants, fresh tensors without a dtype, sublayers."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

import keras
import numpy as np

from layerwright.checks.attempt import Attempt, Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.probes.precision import InPolicy
from layerwright.checks.source import UNKNOWN, Function, keyword
from layerwright.checks.walk import held

HALF = ("half", "float16", "bfloat16", "BFloat16", "Half")
FULL = ("float32", "float tensor", "float64", "double", "Float", "float, but", "a float")
# Functions that make floats of the default dtype, and the place of their dtype argument.
MAKERS = {
    "zeros": 1,
    "ones": 1,
    "full": 2,
    "eye": 3,
    "linspace": 5,
    "convert_to_tensor": 1,
    "constant": 1,
    "array": 1,
    "asarray": 1,
    "tensor": 1,
    "uniform": 3,
    "normal": 3,
    "truncated_normal": 3,
    "gumbel": 2,
    "rand": 9,
    "randn": 9,
    "float32": 9,
}


def mismatch(failure: Failure) -> bool:
    """Whether a call failed because two dtypes don't go together."""
    return failure.mentions(*HALF) and failure.mentions(*FULL)


def widened(attempt: Attempt[InPolicy]) -> str | None:
    """The dtype of the first floating output that isn't in the compute dtype, or None; layers of strings have none."""
    if attempt.value is None:
        return None
    wanted = attempt.value.layer.compute_dtype
    if "float" not in wanted:
        return None
    return next((d for d in attempt.value.dtypes if "float" in d and d != wanted), None)


def constants(lab: Lab, component: Component) -> Iterator[tuple[Function, ast.AST, str]]:
    """Full-precision tensors that `call` brings in: attributes, and tensors made there without a dtype."""
    wide = {i.attribute: i.value for i in held(component.layer) if _is_wide(lab, i.value)}
    for function in component.source.reachable("call"):
        for node in function.walk():
            if isinstance(node, ast.Attribute) and node.attr in wide and _reads(function, node, component):
                yield function, node, f"`self.{node.attr}`"
    for function, call, target in component.source.calls("call"):
        name = getattr(target, "__name__", "") if target is not UNKNOWN else ""
        dtype = keyword(call, "dtype")
        unsaid = name in MAKERS and dtype is None and len(call.args) <= MAKERS[name] and _makes_floats(call)
        if unsaid or (dtype is not None and _is_full(dtype)):
            yield function, call, f"`{ast.unparse(call.func)}`"


def _reads(function: Function, node: ast.Attribute, component: Component) -> bool:
    return isinstance(node.ctx, ast.Load) and function.resolve(node.value, component.layer) is component.layer


def _is_wide(lab: Lab, value: Any) -> bool:
    if isinstance(value, keras.Variable):
        return False
    if isinstance(value, np.ndarray) or lab.engine.is_tensor(value) or lab.engine.is_variable(value):
        return str(keras.backend.standardize_dtype(value.dtype)) in ("float32", "float64")
    return False


def _is_full(node: ast.expr) -> bool:
    text = node.value if isinstance(node, ast.Constant) else getattr(node, "attr", "")
    return text in ("float32", "float64")


def _makes_floats(call: ast.Call) -> bool:
    """Whether what is made can be floating: not where its only argument is whole numbers."""
    if not call.args:
        return True
    numbers = [n.value for n in ast.walk(call.args[0]) if isinstance(n, ast.Constant)]
    name = ast.unparse(call.func).rsplit(".", 1)[-1]
    if name in ("convert_to_tensor", "constant", "array", "asarray", "tensor"):
        return any(isinstance(n, float) for n in numbers)
    return True
