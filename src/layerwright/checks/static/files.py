"""A Python file that is read and never imported: its functions, classes, imports, and what its names mean."""

from __future__ import annotations

import ast
from functools import cached_property
from pathlib import Path

from layerwright.checks.scan import read_tree
from layerwright.checks.static.code import DEEPEST_ALIAS, Code, bindings, builtin, import_table
from layerwright.checks.static.names import FRAMEWORKS, canonical, root

LOCAL = "<file>."


class SourceFile:
    """One file.

    Args:
        path: Where it lies.

    Raises:
        SourceError: Where it isn't Python that can be read.
        OSError: Where it can't be opened.
    """

    def __init__(self, path: Path) -> None:
        self.path = path
        self.tree = read_tree(path)
        self.nodes: list[ast.AST] = []
        self.codes: dict[ast.AST, Code] = {}
        self.parents: dict[ast.AST, ast.AST] = {}
        self.class_nodes: list[tuple[ast.ClassDef, Code | None]] = []
        self._walk()

    def _walk(self) -> None:
        """Hand every node to the function in whose body it stands. Without recursion: files may be nested deeply."""
        stack: list[tuple[ast.AST, Code | None, ast.ClassDef | None]] = [(self.tree, None, None)]
        while stack:
            node, code, owner = stack.pop()
            (self.nodes if code is None else code.nodes).append(node)
            inner, inside = code, owner if isinstance(node, ast.stmt | ast.ExceptHandler) else None
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                inner = Code(node, self, code, owner if not isinstance(node, ast.Lambda) else None)
                self.codes[node] = inner
                if code is not None and inner.owner is None:
                    code.nested.append(inner)
                inside = None
            elif isinstance(node, ast.ClassDef):
                self.class_nodes.append((node, code))
                inside = node
            body = _body(node)
            for child in reversed(list(ast.iter_child_nodes(node))):
                self.parents[child] = node
                within = body is None or id(child) in body
                stack.append((child, inner if within else code, inside if within else None))

    @cached_property
    def imports(self) -> dict[str, str | None]:
        """Names bound by the imports outside of functions."""
        return import_table(self.nodes)

    @cached_property
    def stars(self) -> list[str]:
        """Modules of which all names are imported."""
        found = [n for n in self.nodes if isinstance(n, ast.ImportFrom) and n.names[0].name == "*"]
        return [canonical(node.module or "") for node in found]

    @cached_property
    def frameworks(self) -> frozenset[str]:
        """The frameworks that the file itself imports, apart from `tensorflow.keras`."""
        tables = [self.imports, *(code.imports for code in self.codes.values())]
        return frozenset(root(meant) for table in tables for meant in table.values()) & frozenset(FRAMEWORKS)

    @cached_property
    def functions(self) -> dict[str, Code]:
        """The functions that the file defines outside of classes and functions."""
        return {c.name: c for c in self.codes.values() if c.parent is None and c.owner is None and c.name != "<lambda>"}

    @cached_property
    def methods(self) -> dict[ast.ClassDef, dict[str, Code]]:
        """The methods of each class; of several with one name, such as a property and its setter, the first."""
        found: dict[ast.ClassDef, dict[str, Code]] = {}
        for code in self.codes.values():
            if code.owner is not None:
                found.setdefault(code.owner, {}).setdefault(code.name, code)
        return found

    @cached_property
    def classes(self) -> dict[str, ast.ClassDef]:
        """The classes that the file defines, those in functions included."""
        return {node.name: node for node, _ in self.class_nodes}

    @cached_property
    def bound(self) -> dict[str, list[ast.expr | None]]:
        """Names that are bound outside of functions."""
        return bindings(self.nodes)

    @cached_property
    def decorators(self) -> frozenset[str]:
        """The dotted names of all decorators of functions."""
        return frozenset(decorator for code in self.codes.values() for decorator in code.decorators)

    @cached_property
    def made(self) -> frozenset[str | None]:
        """The dotted names of all that the methods of classes call."""
        return frozenset(c.dotted(n.func) for c in self.codes.values() if c.owner is not None for n in c.calls)

    @cached_property
    def keywords(self) -> frozenset[str]:
        """The names of all keyword arguments that are passed anywhere in the file."""
        return frozenset(n.arg for n in self._everything if isinstance(n, ast.keyword) and n.arg)

    @cached_property
    def attributes_read(self) -> frozenset[str]:
        """All attributes that are read anywhere in the file, and all words in its strings but `name="..."`."""
        loads = {n.attr for n in self._everything if isinstance(n, ast.Attribute) and isinstance(n.ctx, ast.Load)}
        labels = {id(n.value) for n in self._everything if isinstance(n, ast.keyword) and n.arg == "name"}
        strings = {
            n.value
            for n in self._everything
            if isinstance(n, ast.Constant) and isinstance(n.value, str) and id(n) not in labels
        }
        return frozenset(loads | {s for s in strings if s.isidentifier()})

    @cached_property
    def _everything(self) -> list[ast.AST]:
        return [*self.nodes, *(node for code in self.codes.values() for node in code.nodes)]

    def dotted(self, expression: ast.AST, code: Code | None = None, depth: int = 0) -> str | None:
        """What an expression of names and attributes means, as far as the file says.

        `keras.layers.Dense` for what was imported, `self.units`, `super.call`, `builtins.len`, and `<file>.helper` for
        what the file itself defines; None where that can't be told.

        Args:
            expression: The node.
            code: The function in which it stands.
            depth: How many aliases have been followed.
        """
        attributes: list[str] = []
        while isinstance(expression, ast.Attribute):
            attributes.append(expression.attr)
            expression = expression.value
        base = self._base(expression, code, depth)
        return None if base is None else canonical(".".join([base, *reversed(attributes)]))

    def _base(self, node: ast.AST, code: Code | None, depth: int) -> str | None:
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == "super":
            return "super"
        if not isinstance(node, ast.Name):
            return None
        while code is not None:
            if node.id == code.self_name and len(code.bound.get(node.id, ())) == 1:
                return "self"
            if node.id in code.bound:
                return self._alias(code.bound[node.id], code, depth)
            if node.id in code.imports:
                return code.imports[node.id]
            code = code.parent
        return self._global(node.id, depth)

    def _global(self, name: str, depth: int) -> str | None:
        if name in self.functions or name in self.classes:
            return LOCAL + name
        if name in self.imports:
            return self.imports[name]
        if name in self.bound:
            return self._alias(self.bound[name], None, depth)
        for module in self.stars:
            if module == "keras.layers" and name[:1].isupper() and builtin(name) is None:
                return f"{module}.{name}"
        return builtin(name) if not self.stars else None

    def _alias(self, values: list[ast.expr | None], code: Code | None, depth: int) -> str | None:
        """What a name means that is bound once, to another name."""
        if len(values) != 1 or values[0] is None or depth >= DEEPEST_ALIAS:
            return None
        return self.dotted(values[0], code, depth + 1)


def _body(node: ast.AST) -> set[int] | None:
    """The children that belong to a definition's own scope: not decorators, bases and defaults; None for all."""
    if isinstance(node, ast.Lambda):
        return {id(node.body)}
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return {id(statement) for statement in node.body}
    return None
