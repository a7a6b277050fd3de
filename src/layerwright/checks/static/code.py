"""A function in a file that isn't imported: its nodes, its names, and what the names mean."""

from __future__ import annotations

import ast
import builtins
from collections.abc import Iterator
from functools import cached_property
from typing import TYPE_CHECKING

from layerwright.checks.static.names import canonical

if TYPE_CHECKING:
    from layerwright.checks.static.files import SourceFile

Function = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda
DEEPEST_ALIAS = 5


class Code:
    """One function, method or lambda.

    Args:
        node: Its definition.
        file: The file in which it stands.
        parent: The function in which it is defined.
        owner: The class whose method it is.
    """

    def __init__(self, node: Function, file: SourceFile, parent: Code | None, owner: ast.ClassDef | None) -> None:
        self.node, self.file, self.parent, self.owner = node, file, parent, owner
        self.nodes: list[ast.AST] = []
        self.nested: list[Code] = []
        self._meanings: dict[ast.AST, str | None] = {}

    @property
    def name(self) -> str:
        """Its name; `<lambda>` where it has none."""
        return getattr(self.node, "name", "<lambda>")

    @property
    def said(self) -> str:
        """How a message calls it: `Gate.call`; a nested function by the method in which it stands."""
        if self.parent is not None and self.owner is None:
            return self.parent.said
        return f"{self.owner.name}.{self.name}" if self.owner is not None else self.name

    @cached_property
    def parameters(self) -> list[ast.arg]:
        """Its parameters in their order, `*args` and `**kwargs` left out."""
        a = self.node.args
        return [*a.posonlyargs, *a.args, *a.kwonlyargs]

    @cached_property
    def own_parameters(self) -> list[ast.arg]:
        """Its parameters without `self` or `cls`."""
        return self.parameters[1:] if self.self_name or self.is_class_method else self.parameters

    @cached_property
    def defaults(self) -> dict[str, ast.expr]:
        """Default values by parameter."""
        a = self.node.args
        positional = [*a.posonlyargs, *a.args]
        given = dict(zip((p.arg for p in positional[len(positional) - len(a.defaults) :]), a.defaults, strict=True))
        return given | {p.arg: value for p, value in zip(a.kwonlyargs, a.kw_defaults, strict=True) if value is not None}

    @cached_property
    def required(self) -> list[str]:
        """The parameters without a default, `self` left out."""
        return [p.arg for p in self.own_parameters if p.arg not in self.defaults]

    @cached_property
    def decorators(self) -> list[str]:
        """The dotted names of its decorators; `?` for one that has none."""
        found = getattr(self.node, "decorator_list", [])
        scope = self.parent
        return [self.file.dotted(d.func if isinstance(d, ast.Call) else d, scope) or "?" for d in found]

    @property
    def is_class_method(self) -> bool:
        """Whether it is under `@classmethod`."""
        return "builtins.classmethod" in self.decorators

    @cached_property
    def self_name(self) -> str | None:
        """What an instance method calls its instance."""
        if self.owner is None or {"builtins.classmethod", "builtins.staticmethod"} & set(self.decorators):
            return None
        return self.parameters[0].arg if self.parameters else None

    @cached_property
    def imports(self) -> dict[str, str | None]:
        """Names bound by imports in the body."""
        return import_table(self.nodes)

    @cached_property
    def bound(self) -> dict[str, list[ast.expr | None]]:
        """Names that the body binds, with the values of plain assignments; None for any other binding."""
        names = bindings(self.nodes)
        a = self.node.args
        for parameter in [*self.parameters, *([a.vararg] if a.vararg else []), *([a.kwarg] if a.kwarg else [])]:
            names.setdefault(parameter.arg, []).append(None)
        return names

    @cached_property
    def calls(self) -> list[ast.Call]:
        """The calls in the body, those in nested functions left out."""
        return [node for node in self.nodes if isinstance(node, ast.Call)]

    def dotted(self, expression: ast.AST) -> str | None:
        """What an expression of names and attributes means: see `SourceFile.dotted`."""
        known, inner = self._meanings, expression
        attributes: list[ast.Attribute] = []
        while inner not in known and isinstance(inner, ast.Attribute):
            attributes.append(inner)
            inner = inner.value
        if inner not in known:
            known[inner] = self.file.dotted(inner, self)
        for node in reversed(attributes):
            base = known[node.value]
            known[node] = None if base is None else canonical(f"{base}.{node.attr}")
        return known[expression]

    def reads(self, name: str) -> bool:
        """Whether the body, or a function in it, reads a name."""
        here = any(isinstance(n, ast.Name) and n.id == name and isinstance(n.ctx, ast.Load) for n in self.nodes)
        return here or any(inner.reads(name) for inner in self.nested)

    def everything(self) -> Iterator[Code]:
        """The function and all that are nested in it."""
        yield self
        for inner in self.nested:
            yield from inner.everything()

    def around(self, node: ast.AST) -> Iterator[tuple[ast.AST, ast.AST]]:
        """What a node stands in, from the inside out, up to the whole function: each with the part that holds it."""
        part = node
        while part is not self.node:
            outer = self.file.parents.get(part)
            if outer is None:
                return
            yield outer, part
            part = outer


def import_table(nodes: list[ast.AST]) -> dict[str, str | None]:
    """Names bound by the imports among the nodes, with what they mean; None where that is more than one thing."""
    names: dict[str, set[str]] = {}
    for node in nodes:
        if isinstance(node, ast.Import):
            for alias in node.names:
                meant = alias.name if alias.asname else alias.name.split(".")[0]
                names.setdefault(alias.asname or meant, set()).add(canonical(meant))
        elif isinstance(node, ast.ImportFrom):
            module = "." * node.level + (node.module or "")
            for alias in node.names:
                dot = "" if module.endswith(".") else "."
                names.setdefault(alias.asname or alias.name, set()).add(canonical(f"{module}{dot}{alias.name}"))
    return {name: meant.pop() if len(meant) == 1 else None for name, meant in names.items()}


def bindings(nodes: list[ast.AST]) -> dict[str, list[ast.expr | None]]:
    """Names that the nodes bind, with the values of plain assignments; None for any other binding."""
    names: dict[str, list[ast.expr | None]] = {}
    plain: set[int] = set()
    for node in nodes:
        targets: list[ast.expr] = []
        if isinstance(node, ast.Assign):
            targets = node.targets
        elif isinstance(node, ast.AnnAssign | ast.NamedExpr):
            targets = [node.target]
        for target in targets:
            if isinstance(target, ast.Name):
                plain.add(id(target))
                names.setdefault(target.id, []).append(node.value)  # type: ignore[attr-defined]
    for node in nodes:
        name = _bound_by(node) if id(node) not in plain else None
        if name is not None:
            names.setdefault(name, []).append(None)
    return names


def _bound_by(node: ast.AST) -> str | None:
    match node:
        case ast.Name() if not isinstance(node.ctx, ast.Load):
            return node.id
        case ast.FunctionDef() | ast.AsyncFunctionDef() | ast.ClassDef():
            return node.name
        case ast.ExceptHandler() | ast.MatchAs() | ast.MatchStar():
            return node.name
    return None


def builtin(name: str) -> str | None:
    """`builtins.len` for a builtin."""
    return f"builtins.{name}" if hasattr(builtins, name) else None
