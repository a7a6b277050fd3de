"""What a file may define, told from its syntax tree alone: nothing is imported or run."""

from __future__ import annotations

import ast
import builtins
import re
import sys
import warnings
from collections.abc import Iterator
from functools import cached_property
from pathlib import Path

from layerwright.errors import SourceError

LAYER_BASES = frozenset({"Layer", "Model", "Sequential", "Functional", "Wrapper", "Operation"})
OTHER_BASES = re.compile(
    r"object|Generic|Protocol|NamedTuple|TypedDict|ABC|TestCase|PyDataset|LearningRateSchedule|BaseModel|nn\.Module"
    r"|\w*(Callback|Loss|Metric|Optimizer|Initializer|Regularizer|Constraint|Error|Exception|Warning|Enum|Dataset|Sequence)"
)
OTHER_MODULES = frozenset(sys.stdlib_module_names) | {"pydantic", "torch", "pytest", "sklearn", "lightning", "flax"}
Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef


class Scan:
    """The definitions of a module, by what their text says.

    Args:
        tree: The parsed module.
    """

    def __init__(self, tree: ast.Module) -> None:
        self.tree = tree

    @cached_property
    def definitions(self) -> dict[str, Definition]:
        """Top-level functions and classes by name, those under `if`, `try` and `with` included."""
        return {node.name: node for node in statements(self.tree.body) if isinstance(node, Definition)}

    @cached_property
    def imported(self) -> dict[str, str]:
        """Names bound by top-level imports, with the module (and the name in it) that they mean."""
        names: dict[str, str] = {}
        for node in statements(self.tree.body):
            if isinstance(node, ast.Import):
                names |= {a.asname or a.name.split(".")[0]: a.name for a in node.names}
            elif isinstance(node, ast.ImportFrom):
                names |= {a.asname or a.name: f"{node.module or ''}.{a.name}" for a in node.names}
        return names

    @cached_property
    def layers(self) -> dict[str, ast.ClassDef]:
        """The classes that may derive from `Layer` or `Model`."""
        classes = {name: node for name, node in self.definitions.items() if isinstance(node, ast.ClassDef)}
        return {name: node for name, node in classes.items() if self._may_be_layer(node, frozenset())}

    @cached_property
    def examples(self) -> dict[str, Definition]:
        """The functions and classes that carry a decorator named `example`."""
        return {name: node for name, node in self.definitions.items() if any(map(_is_example, node.decorator_list))}

    def binds(self, name: str) -> bool:
        """Whether a top-level import, assignment or loop may bind a name; a star import may bind any."""
        if name in self.imported or "*" in self.imported:
            return True
        targets = (n for s in statements(self.tree.body) if not isinstance(s, Definition) for n in ast.walk(s))
        return any(isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store) and n.id == name for n in targets)

    def _may_be_layer(self, node: ast.ClassDef, seen: frozenset[str]) -> bool:
        return node.name not in seen and any(self._may_be_base(base, seen | {node.name}) for base in node.bases)

    def _may_be_base(self, base: ast.expr, seen: frozenset[str]) -> bool:
        while isinstance(base, ast.Subscript):
            base = base.value
        dotted = dotted_name(base)
        if dotted is None:
            return True
        first, last = dotted.split(".")[0], dotted.split(".")[-1]
        local = self.definitions.get(dotted)
        if isinstance(local, ast.ClassDef):
            return self._may_be_layer(local, seen)
        if self.imported.get(first, "").split(".")[0] in OTHER_MODULES:
            return False
        return last in LAYER_BASES or not (OTHER_BASES.fullmatch(last) or hasattr(builtins, last))


MOST_BYTES = 2 << 20


def read_tree(path: Path) -> ast.Module:
    """Parse a file.

    Raises:
        SourceError: Where it isn't Python that can be read.
    """
    if path.stat().st_size > MOST_BYTES:
        raise SourceError(
            f"`{path.name}` is too large to be read.",
            expected=f"a file of {MOST_BYTES >> 20} MiB at most",
            got=f"{path.stat().st_size >> 20} MiB",
            fix="put the layers into a file of their own.",
            where=str(path),
        )
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # such as an invalid escape: the file's, and not for this reader
            return ast.parse(path.read_bytes(), filename=str(path))
    except (SyntaxError, ValueError, RecursionError, MemoryError) as error:
        line = getattr(error, "lineno", None)
        raise SourceError(
            f"`{path.name}` isn't Python that can be read.",
            expected=f"the syntax of Python {sys.version_info.major}.{sys.version_info.minor}",
            got=getattr(error, "msg", None) or str(error) or "code that is nested too deeply",
            fix="correct the line; `%magic` and `!command` lines of a notebook must be left out.",
            where=f"{path}:{line}" if line else str(path),
        ) from None


def statements(body: list[ast.stmt]) -> Iterator[ast.stmt]:
    """The statements of a block and of compound statements in it; functions and classes aren't entered."""
    for node in body:
        yield node
        if not isinstance(node, Definition):
            for name in ("body", "orelse", "finalbody"):
                yield from statements(getattr(node, name, []))
            for handler in getattr(node, "handlers", []):
                yield from statements(handler.body)


def dotted_name(node: ast.AST) -> str | None:
    """`a.b.c` of an expression of names and attributes, else None."""
    if isinstance(node, ast.Name):
        return node.id
    if isinstance(node, ast.Attribute):
        base = dotted_name(node.value)
        return None if base is None else f"{base}.{node.attr}"
    return None


def _is_example(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return (dotted_name(called) or "").split(".")[-1] == "example"
