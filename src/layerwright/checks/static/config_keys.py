"""The keys that a `get_config` returns, where its source shows all of them."""

from __future__ import annotations

import ast
import dataclasses

from layerwright.checks.static.code import Code
from layerwright.checks.static.memo import once
from layerwright.checks.static.view import ClassView


@dataclasses.dataclass
class Keys:
    """What a config holds.

    Attributes:
        code: The `get_config` that was read.
        values: The values by key, those that are added under a condition included.
        from_super: Whether it starts from the config of the base class.
    """

    code: Code
    values: dict[str, ast.expr] = dataclasses.field(default_factory=dict)
    from_super: bool = False

    @property
    def names(self) -> frozenset[str]:
        """The keys."""
        return frozenset(self.values)


@once
def keys_of(view: ClassView) -> Keys | None:
    """The keys of a class's config, those of its ancestors in the file included; None where they can't all be told."""
    whole: Keys | None = None
    for code in view.chain("get_config"):
        keys = _Reader(code).read()
        if keys is None:
            return None
        if whole is None:
            whole = keys
        else:
            whole.values = {**keys.values, **whole.values}
            whole.from_super = keys.from_super
    return whole


class _Reader:
    """Follows the dict that one `get_config` returns through its body."""

    def __init__(self, code: Code) -> None:
        self.keys = Keys(code)
        self.code = code
        self.understood = not code.decorators and not code.nested

    def read(self) -> Keys | None:
        returned = [n.value for n in self.code.nodes if isinstance(n, ast.Return) and n.value is not None]
        if not returned:
            return None
        for value in returned:
            self._dict(value)
        for node in self.code.nodes:
            self._statement(node)
        return self.keys if self.understood else None

    def _statement(self, node: ast.AST) -> None:
        """Anything that changes a dict: a key that is set, an update."""
        if isinstance(node, ast.Assign):
            for target in node.targets:
                if isinstance(target, ast.Subscript):
                    self._key(target.slice, node.value)
        elif isinstance(node, ast.Delete | ast.For | ast.While | ast.AugAssign | ast.comprehension | ast.With):
            self.understood = False
        elif isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute):
            if node.func.attr == "update":
                self._update(node)
            elif node.func.attr == "setdefault" and len(node.args) == 2:
                self._key(*node.args)
            elif node.func.attr in ("pop", "popitem", "clear"):
                self.understood = False

    def _update(self, call: ast.Call) -> None:
        for value in call.args:
            self._dict(value)
        for keyword in call.keywords:
            if keyword.arg is None:
                self._dict(keyword.value)
            else:
                self.keys.values[keyword.arg] = keyword.value

    def _key(self, key: ast.expr, value: ast.expr) -> None:
        if isinstance(key, ast.Constant) and isinstance(key.value, str):
            self.keys.values[key.value] = value
        else:
            self.understood = False

    def _dict(self, node: ast.expr) -> None:
        """An expression that is a dict, or a part of one."""
        if isinstance(node, ast.Dict):
            for key, value in zip(node.keys, node.values, strict=True):
                if key is None:
                    self._dict(value)
                else:
                    self._key(key, value)
        elif isinstance(node, ast.BinOp) and isinstance(node.op, ast.BitOr):
            self._dict(node.left)
            self._dict(node.right)
        elif isinstance(node, ast.Name):
            self._name(node.id)
        elif isinstance(node, ast.Call):
            self._call(node)
        else:
            self.understood = False

    def _name(self, name: str) -> None:
        values = self.code.bound.get(name, [])
        if len(values) != 1 or values[0] is None:
            self.understood = False
        else:
            self._dict(values[0])

    def _call(self, call: ast.Call) -> None:
        dotted = self.code.dotted(call.func) or ""
        base = isinstance(call.func, ast.Attribute) and call.func.attr == "get_config"
        if dotted == "super.get_config" or (base and dotted.startswith(("keras.", "<file>."))):
            self.keys.from_super = True
        elif dotted == "builtins.dict":
            self._update(call)
        elif isinstance(call.func, ast.Attribute) and call.func.attr == "copy" and not call.args:
            self._dict(call.func.value)
        else:
            self.understood = False
