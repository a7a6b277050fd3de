"""What the text of `call` and `build` says about the inputs: their structure, their ranks, and which are ids."""

from __future__ import annotations

import ast
import dataclasses
from collections.abc import Callable, Iterator
from typing import Any

from layerwright.checks.scan import dotted_name
from layerwright.checks.source import Function, constant

Path = tuple[Any, ...]
LIST_CALLS = frozenset({"concatenate", "concat", "stack", "add_n", "cat", "hstack", "vstack"})
SHAPE_CALLS = frozenset({"shape", "int_shape"})
INDEX_CALLS = {"one_hot": 0, "take": 1, "gather": 1, "embedding_lookup": 1, "gather_nd": 1, "take_along_axis": 1}


@dataclasses.dataclass
class Reading:
    """What was read of the inputs; a path is a parameter's name, followed by indices or keys.

    Attributes:
        lists: Of paths that are lists, how many elements they have at least.
        dicts: Of paths that are dicts, the keys.
        maybe_lists: Paths that may be lists (`isinstance(inputs, list)`).
        ranks: Of paths, the exact rank.
        min_ranks: Of paths, the least rank.
        expanded: Paths that are given a step axis, to meet inputs that have one.
        ids: Paths that are handed to an embedding or used as indices, with what they are handed to.
        names: Of elements, the names to which they are unpacked.
        numbers: Parameters that are used as plain numbers (in a slice, in `range`).
    """

    lists: dict[Path, int] = dataclasses.field(default_factory=dict)
    dicts: dict[Path, list[str]] = dataclasses.field(default_factory=dict)
    maybe_lists: set[Path] = dataclasses.field(default_factory=set)
    ranks: dict[Path, int] = dataclasses.field(default_factory=dict)
    min_ranks: dict[Path, int] = dataclasses.field(default_factory=dict)
    expanded: set[Path] = dataclasses.field(default_factory=set)
    ids: dict[Path, Any] = dataclasses.field(default_factory=dict)
    names: dict[Path, str] = dataclasses.field(default_factory=dict)
    numbers: set[str] = dataclasses.field(default_factory=set)

    def at_least(self, path: Path, rank: int) -> None:
        """Note that an input has at least this rank."""
        self.min_ranks[path] = max(rank, self.min_ranks.get(path, 0))

    def element(self, path: Path, key: Any) -> Path:
        """Note that an input has this element, and say its path."""
        if isinstance(key, str):
            keys = self.dicts.setdefault(path, [])
            if key not in keys:
                keys.append(key)
        else:
            self.lists[path] = max(self.lists.get(path, 2), key + 1)
        return (*path, key)


class Reader:
    """Follows the inputs through the statements of a method.

    Args:
        reading: What is noted.
        function: The method.
        embeds: Says of an expression such as `self.embedding` what it embeds, or None.
    """

    def __init__(self, reading: Reading, function: Function, embeds: Callable[[ast.expr], Any]) -> None:
        self.reading, self.function, self.embeds = reading, function, embeds
        self.paths: dict[str, Path] = {}

    def read(self, names: list[str]) -> None:
        """Read the method, whose parameters of these names are the inputs."""
        self.paths = {name: (name,) for name in names}
        body = self.function.node.body
        self._block(body if isinstance(body, list) else [ast.Expr(body)])

    def _block(self, body: list[ast.stmt]) -> None:
        for node in body:
            for part in _own_expressions(node):
                self._expression(part)
            if isinstance(node, ast.Assign):
                self._assign(node)
            elif isinstance(node, ast.For) and (path := self.path(_unwrapped(node.iter))):
                self.reading.lists.setdefault(path, 2)
            for block in ("body", "orelse", "finalbody"):
                if not isinstance(node, ast.FunctionDef | ast.ClassDef):
                    self._block(getattr(node, block, []))

    def path(self, node: ast.AST) -> Path | None:
        """The input that an expression is: a name, an element of one."""
        if isinstance(node, ast.Name):
            return self.paths.get(node.id)
        if isinstance(node, ast.Subscript) and (path := self.path(node.value)):
            key = constant(node.slice)
            if isinstance(key, str) or (type(key) is int and key >= 0):
                return self.reading.element(path, key)
        return None

    def _assign(self, node: ast.Assign) -> None:
        path = self.path(node.value)
        shape_of = self._shape_of(node.value)
        for target in node.targets:
            if isinstance(target, ast.Tuple | ast.List):
                starred = any(isinstance(t, ast.Starred) for t in target.elts)
                if path is not None and not starred:
                    self._unpack(target, path)
                elif shape_of is not None and not starred:
                    self.reading.ranks[shape_of] = len(target.elts)
            elif isinstance(target, ast.Name):
                if path is not None:
                    self.paths[target.id] = path
                    if len(path) > 1:
                        self.reading.names.setdefault(path, target.id)
                elif target.id in self.paths and not _is_cast(node.value):
                    # From here on the name means something computed.
                    del self.paths[target.id]

    def _unpack(self, target: ast.Tuple | ast.List, path: Path) -> None:
        for place, part in enumerate(target.elts):
            inner = self.reading.element(path, place)
            if isinstance(part, ast.Name):
                self.paths[part.id] = inner
                self.reading.names[inner] = part.id

    def _shape_of(self, node: ast.AST) -> Path | None:
        """The input of which an expression is the shape: `x.shape`, `ops.shape(x)`."""
        if isinstance(node, ast.Attribute) and node.attr == "shape":
            return self.path(node.value)
        if isinstance(node, ast.Call) and node.args and last_name(node.func) in SHAPE_CALLS:
            return self.path(node.args[0])
        return None

    def _expression(self, root: ast.expr) -> None:
        for node in ast.walk(root):
            if isinstance(node, ast.Subscript):
                self._subscript(node)
            elif isinstance(node, ast.Call):
                self._call(node)
            elif isinstance(node, ast.comprehension) and (path := self.path(_unwrapped(node.iter))):
                self.reading.lists.setdefault(path, 2)
            elif isinstance(node, ast.Slice):
                bounds = [b for b in (node.lower, node.upper) if isinstance(b, ast.Name)]
                self.reading.numbers.update(b.id for b in bounds if self.paths.get(b.id) == (b.id,))

    def _subscript(self, node: ast.Subscript) -> None:
        shape_of = self._shape_of(node.value)
        place = constant(node.slice)
        if shape_of is not None and type(place) is int:
            self.reading.at_least(shape_of, place + 1 if place >= 0 else -place)
        path = self.path(node.value)
        if path is not None and isinstance(node.slice, ast.Tuple):
            axes = [e for e in node.slice.elts if not _adds_axis(e)]
            self.reading.at_least(path, len(axes))
        elif path is not None:
            self.path(node)

    def _call(self, node: ast.Call) -> None:
        last = last_name(node.func)
        first = self.path(node.args[0]) if node.args else None
        if isinstance(node.func, ast.Attribute) and (owner := self.path(node.func.value)):
            if last in ("items", "values", "keys"):
                self.reading.dicts.setdefault(owner, [])
            elif last in ("get", "pop") and node.args and isinstance(constant(node.args[0]), str):
                self.reading.element(owner, constant(node.args[0]))
        if last == "range":
            self.reading.numbers.update(a.id for a in node.args if isinstance(a, ast.Name) and a.id in self.paths)
        place = INDEX_CALLS.get(last)
        if place is not None and len(node.args) > place and (indices := self.path(node.args[place])):
            self.reading.ids.setdefault(indices, None)
        embedded = self.embeds(node.func)
        if embedded is not None and node.args and (fed := self._within(node.args[0])):
            self.reading.ids[fed] = embedded
        if last == "einsum":
            self._einsum(node)
        if first is None:
            return
        if last in LIST_CALLS or last == "len":
            self.reading.lists.setdefault(first, 2)
        elif last == "isinstance" and len(node.args) == 2:
            if any(word in ast.unparse(node.args[1]) for word in ("list", "tuple", "Sequence")):
                self.reading.maybe_lists.add(first)
        elif last in ("transpose", "permute"):
            self._transpose(node, first)
        elif last == "expand_dims" and len(self.function.parameters) > 2:
            self._expand(node, first)
        axis = next((constant(k.value) for k in node.keywords if k.arg == "axis"), None)
        if type(axis) is int and last not in (*LIST_CALLS, "expand_dims"):
            self.reading.at_least(first, axis + 1 if axis >= 0 else -axis)

    def _expand(self, node: ast.Call, path: Path) -> None:
        """A step axis given to one of several inputs: it has none of its own."""
        axes = [*node.args[1:], *(k.value for k in node.keywords if k.arg == "axis")]
        if axes and constant(axes[0]) == 1:
            self.reading.ranks.setdefault(path, 2)
            self.reading.expanded.add(path)

    def _within(self, node: ast.expr) -> Path | None:
        """The input of which an expression is, or takes, a part: `inputs[:, 0]`, `ops.cast(inputs, "int32")`."""
        path = self.path(node)
        if path is None and isinstance(node, ast.Subscript):
            return self._within(node.value)
        if path is None and isinstance(node, ast.Call) and _is_cast(node) and node.args:
            return self._within(node.args[0])
        return path

    def _einsum(self, node: ast.Call) -> None:
        equation = constant(node.args[0]) if node.args else None
        terms = equation.split("->")[0].split(",") if isinstance(equation, str) else []
        for term, operand in zip(terms, node.args[1:], strict=False):
            path = self.path(operand)
            if path is not None and "." not in term:
                self.reading.ranks[path] = len(term.strip())

    def _transpose(self, node: ast.Call, path: Path) -> None:
        given = [*node.args[1:], *(k.value for k in node.keywords if k.arg in ("axes", "perm"))]
        axes = constant(given[0]) if given else None
        if isinstance(axes, list | tuple):
            self.reading.ranks[path] = len(axes)


def _own_expressions(node: ast.stmt) -> Iterator[ast.expr]:
    return (child for child in ast.iter_child_nodes(node) if isinstance(child, ast.expr))


def _unwrapped(node: ast.expr) -> ast.expr:
    """`inputs` of `enumerate(inputs)`."""
    if isinstance(node, ast.Call) and node.args and last_name(node.func) in ("enumerate", "reversed", "list", "tuple"):
        return node.args[0]
    return node


def _adds_axis(node: ast.expr) -> bool:
    return (isinstance(node, ast.Constant) and node.value in (None, ...)) or last_name(node) == "newaxis"


def _is_cast(node: ast.expr) -> bool:
    """Whether an expression is its input in another dtype."""
    return isinstance(node, ast.Call) and last_name(node.func) in ("cast", "convert_to_tensor", "astype", "to")


def last_name(node: ast.AST) -> str:
    """`concat` of `tf.concat`, whatever stands before it."""
    dotted = dotted_name(node)
    return dotted.rsplit(".", 1)[-1] if dotted else str(getattr(node, "attr", ""))
