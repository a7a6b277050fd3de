"""Which expressions are tensors for sure: what is computed from the first argument of `call`, or from weights.

Everything else counts as a plain Python value. A name is a tensor where everything that is assigned to it is one.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Literal

from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.memo import once
from layerwright.checks.static.reach import is_host_call, target
from layerwright.checks.static.view import ClassView

# A tensor's values, or its size as a tensor of whole numbers, as `tf.shape` gives it.
Kind = Literal["values", "size"]

SPACES = (
    *("keras.ops.", "keras.activations.", "keras.random."),
    *("tensorflow.", "jax.numpy.", "jax.nn.", "jax.lax."),
)
SIZES = frozenset({"tensorflow.shape", "tensorflow.size", "tensorflow.rank"})
# Functions of these packages that give something else than a tensor.
PLAIN = frozenset({
    "shape", "ndim", "size", "rank", "dtype", "result_type", "issubdtype", "convert_to_numpy", "get_static_value",
    "executing_eagerly", "print", "get_config", "serialize", "deserialize", "get", "stop_recording", "device",
})  # fmt: skip
PLAIN_SPACES = (".debugging.", ".config.", ".data.", ".io.", ".errors.", ".autograph.", ".saved_model.", ".distribute.")
SAME_TENSOR = frozenset({"T", "mT", "real", "imag"})
METHODS = frozenset({
    "sum", "mean", "any", "all", "max", "min", "std", "var", "prod", "cumsum", "argmax", "argmin", "abs", "sqrt",
    "exp", "log", "round", "clip", "astype", "reshape", "transpose", "flatten", "squeeze", "copy", "numpy", "item",
})  # fmt: skip
STAYS = frozenset({"numpy", "item"})


class Tensors:
    """What is a tensor in one function.

    Args:
        view: The class for whose `call` it runs.
        code: The function.
        given: Its parameters that are tensors.
        outer: The same of the function in which it is nested.
    """

    def __init__(self, view: ClassView, code: Code, given: frozenset[str], outer: Tensors | None = None) -> None:
        self.view, self.code = view, code
        seen = {} if outer is None else {n: k for n, k in outer.kinds.items() if n not in code.bound}
        self.kinds: dict[str, Kind] = {**seen, **dict.fromkeys(sorted(given), "values")}
        self._parameters = {parameter.arg for parameter in code.parameters}
        self._given = given
        self._settle()

    def is_given(self, name: str) -> bool:
        """Whether a name is one of the tensors that the function was given, maybe in another form."""
        return name in self._given and self.kinds.get(name) == "values"

    def is_input(self, name: str) -> bool:
        """Whether a name is one of the tensors that the function was given, and never anything else."""
        return name in self._given and len(self.code.bound[name]) == 1

    def _settle(self) -> None:
        for _ in range(4):
            before = dict(self.kinds)
            for name, values in self._assigned().items():
                if name in self._parameters and name not in self._given:
                    continue
                given: set[Kind | None] = {"values"} if name in self._given else set()
                # `total = total / 2` is what `total` was before.
                start = given | {self.kind(value) for value in values if not _mentions(value, name)}
                kind = start.pop() if len(start) == 1 else None
                self.kinds.pop(name, None)
                if kind is not None:
                    self.kinds[name] = kind
                    if {self.kind(value) for value in values} - {kind}:
                        del self.kinds[name]
            if self.kinds == before:
                return

    def _assigned(self) -> dict[str, list[ast.expr]]:
        """Every name that the function binds, with what it is bound to; a part of a tensor counts as the tensor."""
        found: dict[str, list[ast.expr]] = {}
        for node in self.code.nodes:
            for given, value in _pairs(node):
                for inner in ast.walk(given):
                    if isinstance(inner, ast.Name):
                        found.setdefault(inner.id, []).append(value)
        others = set(self.code.bound) - set(found) - self._parameters
        return {**found, **{name: [ast.Constant(None)] for name in others}}

    def kind(self, node: ast.AST | None) -> Kind | None:
        """What an expression is; None for a plain value, and for what can't be told."""
        match node:
            case ast.Name():
                return self.kinds.get(node.id)
            case ast.Starred() | ast.NamedExpr() | ast.Subscript():
                return self.kind(node.value)
            case ast.UnaryOp():
                return self.kind(node.operand)
            case ast.BinOp():
                return self._any([node.left, node.right])
            case ast.BoolOp():
                return self._any(node.values)
            case ast.Compare():
                return self._compared(node)
            case ast.IfExp():
                return self._all([node.body, node.orelse])
            case ast.List() | ast.Tuple():
                return self._all(node.elts)
            case ast.ListComp():
                return self.kind(node.elt)
            case ast.Attribute():
                return self._attribute(node)
            case ast.Call():
                return self._call(node)
        return None

    def _any(self, nodes: list[ast.expr]) -> Kind | None:
        kinds = [self.kind(node) for node in nodes]
        return "values" if "values" in kinds else "size" if "size" in kinds else None

    def _all(self, nodes: list[ast.expr]) -> Kind | None:
        kinds = {self.kind(node) for node in nodes}
        return kinds.pop() if len(kinds) == 1 else None

    def _compared(self, node: ast.Compare) -> Kind | None:
        if any(isinstance(op, ast.Is | ast.IsNot | ast.In | ast.NotIn) for op in node.ops):
            return None
        sides = [node.left, *node.comparators]
        if any(isinstance(side, ast.Constant) and isinstance(side.value, str | None) for side in sides):
            return None
        return self._any(sides)

    def _attribute(self, node: ast.Attribute) -> Kind | None:
        dotted = self.code.dotted(node) or ""
        if dotted.startswith("self."):
            return "values" if dotted.removeprefix("self.") in self.view.weights else None
        return self.kind(node.value) if node.attr in SAME_TENSOR else None

    def _call(self, node: ast.Call) -> Kind | None:
        dotted = self.code.dotted(node.func)
        given = [*node.args, *(keyword.value for keyword in node.keywords)]
        if dotted in SIZES:
            return "size" if self._any(given) else None
        if self._computes(node, dotted):
            return self._any(given)
        if isinstance(node.func, ast.Attribute) and node.func.attr in METHODS - STAYS:
            return self.kind(node.func.value)
        return None

    def _computes(self, node: ast.Call, dotted: str | None) -> bool:
        """Whether a call gives a tensor where it is given one."""
        if dotted is None:
            made = isinstance(node.func, ast.Call) and self.code.dotted(node.func.func)
            return bool(made) and self.view.layer_class(made or None)
        first, _, name = dotted.partition(".")
        if first == "self":
            return name in self.view.children or self.view.makers(name) == {"keras.activations.get"}
        plain = names.last(dotted) in PLAIN or names.last(dotted).startswith("is_")
        if plain or names.last(dotted)[:1].isupper() or any(space in dotted for space in PLAIN_SPACES):
            return False
        return dotted.startswith(SPACES) and not is_host_call(dotted)


def _mentions(node: ast.AST, name: str) -> bool:
    return any(isinstance(n, ast.Name) and n.id == name for n in ast.walk(node))


def _pairs(node: ast.AST) -> list[tuple[ast.expr, ast.expr]]:
    """What a node binds, and to what."""
    match node:
        case ast.Assign():
            return [pair for given in node.targets for pair in _unpacked(given, node.value)]
        case ast.AnnAssign() if node.value is not None:
            return [(node.target, node.value)]
        case ast.NamedExpr():
            return [(node.target, node.value)]
        case ast.AugAssign():
            return [(node.target, ast.BinOp(node.target, node.op, node.value))]
        case ast.For() | ast.AsyncFor() | ast.comprehension():
            return [(node.target, node.iter)]
    return []


def _unpacked(given: ast.expr, value: ast.expr) -> list[tuple[ast.expr, ast.expr]]:
    both = isinstance(given, ast.Tuple | ast.List) and isinstance(value, ast.Tuple | ast.List)
    if both and len(given.elts) == len(value.elts):  # type: ignore[attr-defined]
        return list(zip(given.elts, value.elts, strict=True))  # type: ignore[attr-defined]
    return [] if isinstance(given, ast.Attribute | ast.Subscript) else [(given, value)]


@once
def tensors(view: ClassView) -> dict[Code, Tensors]:
    """What is a tensor in `call` and in everything that it runs with tensors."""
    call = view.method("call")
    if call is None or not call.own_parameters:
        return {}
    first = call.own_parameters[0].arg
    found: dict[Code, Tensors] = {}
    given: dict[Code, frozenset[str]] = {call: frozenset() if first in call.defaults else frozenset({first})}
    waiting: list[tuple[Code, Tensors | None]] = [(call, None)]
    while waiting:
        code, outer = waiting.pop(0)
        here = found[code] = Tensors(view, code, given.get(code, frozenset()), outer)
        waiting += [(inner, here) for inner in code.nested]
        for node in code.calls:
            other = target(view, code, node.func)
            if other is None or other.name in ("__init__", "build"):
                continue
            passed = _passed(here, node, other)
            known = given.get(other)
            given[other] = passed if known is None else known & passed
            if given[other] != known:
                waiting.append((other, None))
    return found


def _passed(here: Tensors, call: ast.Call, other: Code) -> frozenset[str]:
    """The parameters of a function that a call gives tensors."""
    if any(isinstance(node, ast.Starred) for node in call.args):
        return frozenset()
    pairs = [(p.arg, value) for p, value in zip(other.own_parameters, call.args, strict=False)]
    pairs += [(keyword.arg, keyword.value) for keyword in call.keywords if keyword.arg]
    return frozenset(name for name, value in pairs if here.kind(value) == "values")


def traced(view: ClassView) -> Iterator[tuple[Code, Tensors]]:
    """What `call` runs while it is traced, with what is a tensor there; nothing where TensorFlow rewrites the code."""
    for code, known in tensors(view).items() if not view.is_host_side else ():
        if "tensorflow.function" in code.decorators:
            return
        yield code, known
