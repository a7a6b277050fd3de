"""Which names the definitions of a file need, so that no other top-level statement must be run.

A name is needed where a definition refers to it while it is made (decorators, bases, defaults, class bodies), where
a method of a class that may be a layer refers to it, and where something needed does in turn.
"""

from __future__ import annotations

import ast
import dis
from collections import defaultdict
from collections.abc import Iterator
from types import CodeType

from layerwright.checks.scan import Definition, Scan, dotted_name, statements

IMPORTS = ast.Import | ast.ImportFrom
COMPOUND = ast.If | ast.Try | ast.With | ast.For | ast.While | ast.Match | ast.AsyncFor | ast.AsyncWith
ASSIGNMENTS = ast.Assign | ast.AnnAssign | ast.AugAssign
# Methods that show or keep an object and leave it as it is.
SHOWING = frozenset(
    {"summary", "compile", "save", "save_weights", "plot", "show", "print", "savefig", "export", "write"}
)
_NAME_OPS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"})


class Needs:
    """The needed names of a module.

    Args:
        scan: The module's definitions.
        flags: The compiler flags of its `from __future__` imports.

    Attributes:
        scan: The module's definitions.
        names: Every name that is needed, imported ones included.
    """

    def __init__(self, scan: Scan, flags: int = 0) -> None:
        self.scan, self._flags = scan, flags
        self._binders: dict[str, list[ast.stmt]] = defaultdict(list)
        self._headers: dict[ast.stmt, list[ast.AST]] = {}
        self._collect(scan.tree.body, [])
        self.names = self._close()

    def binds(self, node: ast.stmt) -> bool:
        """Whether an assignment (or a loop, or a `with`) binds or changes something that is needed."""
        return bool(self.names.intersection(bound_names(node))) or self.changes(node)

    def changes(self, node: ast.stmt) -> bool:
        """Whether a statement changes a needed object in place: `TABLE["a"] = 1`, `TABLE.append(1)`."""
        return any(name in self.names and self._made_here(name) for name in changed_names(node))

    def _made_here(self, name: str) -> bool:
        return name not in self.scan.imported and bool(self._binders.get(name))

    def _collect(self, body: list[ast.stmt], headers: list[ast.AST]) -> None:
        for node in body:
            self._headers[node] = headers
            for name in {*bound_names(node), *changed_names(node)}:
                self._binders[name].append(node)
            if isinstance(node, COMPOUND):
                inner = [*headers, *header(node)]
                for block in blocks(node):
                    self._collect(block, inner)

    def _close(self) -> set[str]:
        needed: set[str] = set()
        waiting = list(self._roots())
        while waiting:
            name = waiting.pop()
            if name in needed:
                continue
            needed.add(name)
            for node in self._binders.get(name, []):
                waiting.extend(self.loads(node, deep=True))
        return needed

    def _roots(self) -> Iterator[str]:
        for node in statements(self.scan.tree.body):
            if isinstance(node, Definition):
                deep = node.name in self.scan.layers or node.name in self.scan.examples
                yield from self.loads(node, deep)
            elif isinstance(node, COMPOUND) and any(isinstance(n, Definition | IMPORTS) for n in statements([node])):
                yield from (name for part in header(node) for name in _names_in(part))

    def loads(self, node: ast.stmt, deep: bool) -> Iterator[str]:
        """The global names that a statement refers to; with `deep`, those in the bodies of its functions too."""
        for part in self._headers.get(node, []):
            yield from _names_in(part)
        if isinstance(node, COMPOUND):
            yield from (name for part in header(node) for name in _names_in(part))
            return
        try:
            code = compile(ast.Module([node], []), "<statement>", "exec", self._flags, dont_inherit=True)
        except (SyntaxError, ValueError):
            return
        yield from _globals_of(code, deep)


def _globals_of(code: CodeType, deep: bool) -> Iterator[str]:
    yield from (i.argval for i in dis.get_instructions(code) if i.opname in _NAME_OPS)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            # Lambdas and comprehensions (their names are in angle brackets) belong to the statement, like class bodies.
            optimized = bool(inner.co_flags & 0x0001)
            if deep or not optimized or inner.co_name.startswith("<"):
                yield from _globals_of(inner, deep)


def header(node: ast.stmt) -> list[ast.AST]:
    """What a compound statement evaluates before its blocks."""
    if isinstance(node, ast.If | ast.While):
        return [node.test]
    if isinstance(node, ast.For | ast.AsyncFor):
        return [node.iter]
    if isinstance(node, ast.With | ast.AsyncWith):
        return [item.context_expr for item in node.items]
    return [node.subject] if isinstance(node, ast.Match) else []


def blocks(node: ast.stmt) -> Iterator[list[ast.stmt]]:
    """The blocks of a compound statement."""
    for name in ("body", "orelse", "finalbody"):
        yield getattr(node, name, [])
    for part in (*getattr(node, "handlers", []), *getattr(node, "cases", [])):
        yield part.body


def bound_names(node: ast.stmt) -> set[str]:
    """The names that a statement itself binds, its blocks left out."""
    if isinstance(node, Definition):
        return {node.name}
    if isinstance(node, IMPORTS):
        return {a.asname or a.name.split(".")[0] for a in node.names}
    targets: list[ast.AST] = []
    if isinstance(node, ast.Assign):
        targets = [*node.targets, node.value]
    elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.For | ast.AsyncFor):
        targets = [node.target]
    elif isinstance(node, ast.With | ast.AsyncWith):
        targets = [item.optional_vars for item in node.items if item.optional_vars is not None]
    found = (n for target in targets for n in ast.walk(target))
    return {n.id for n in found if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}


def changed_names(node: ast.stmt) -> set[str]:
    """The names whose objects a statement changes in place."""
    if isinstance(node, ast.Assign | ast.AugAssign):
        targets = node.targets if isinstance(node, ast.Assign) else [node.target]
        inner = (t.value for t in targets if isinstance(t, ast.Subscript | ast.Attribute))
        return {root for root in map(_root, inner) if root is not None}
    called = node.value.func if isinstance(node, ast.Expr) and isinstance(node.value, ast.Call) else None
    root = _root(called.value) if isinstance(called, ast.Attribute) and called.attr not in SHOWING else None
    return set() if root is None else {root}


def _root(node: ast.AST) -> str | None:
    while isinstance(node, ast.Subscript | ast.Call):
        node = node.value if isinstance(node, ast.Subscript) else node.func
    dotted = dotted_name(node)
    return None if dotted is None else dotted.split(".")[0]


def _names_in(node: ast.AST) -> Iterator[str]:
    return (n.id for n in ast.walk(node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Load))
