"""`add_weight` as Keras 2 took it, recognized in the source."""

from __future__ import annotations

import ast

from layerwright.checks.facts import DROPPED_BY_ADD_WEIGHT, OLD_ADD_WEIGHT
from layerwright.checks.source import constant, keyword, text_of

TAKEN = "`shape`, `initializer`, `dtype`, `trainable`, `regularizer`, `constraint`, `name`"


def is_text(node: ast.expr) -> bool:
    """Whether an expression is a string for certain: a literal, an f-string, a sum or `format` of one."""
    if isinstance(node, ast.JoinedStr):
        return True
    if isinstance(node, ast.BinOp):
        return is_text(node.left) or is_text(node.right)
    if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "format":
        return True
    return isinstance(constant(node), str)


def by_keyword(call: ast.Call) -> list[str]:
    """The positional arguments of an old call, each written as a keyword argument; the name is the first."""
    return [f"{key}={text_of(value)}" for key, value in zip(OLD_ADD_WEIGHT, call.args, strict=False)]


def dropped(call: ast.Call) -> list[str]:
    """The arguments of a call that Keras 3 no longer takes."""
    return [name for name in DROPPED_BY_ADD_WEIGHT if keyword(call, name) is not None]
