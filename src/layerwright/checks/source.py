"""The source of a layer's class, found by its code objects, with names resolved to the objects they mean.

`inspect.getsource` takes the wrong class where several share a qualified name, so a function is looked up
by the file and the line that its code object carries; files, notebook cells and doctests all come through
`linecache`.
"""

from __future__ import annotations

import ast
import builtins
import dataclasses
import inspect
import linecache
import sys
from collections.abc import Callable, Iterator, Mapping
from functools import cached_property
from types import CodeType, FunctionType, ModuleType
from typing import Any

Definition = ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda


class _Unknown:
    """What a name means where that can't be told without running it."""

    def __repr__(self) -> str:
        return "UNKNOWN"

    def __bool__(self) -> bool:
        return False


UNKNOWN: Any = _Unknown()


@dataclasses.dataclass(frozen=True)
class File:
    """A parsed source file."""

    path: str
    tree: ast.Module
    lines: tuple[str, ...]

    @cached_property
    def definitions(self) -> dict[int, list[Definition]]:
        """Functions and lambdas by the line that their code objects carry (a decorator's, where there is one)."""
        found: dict[int, list[Definition]] = {}
        for node in ast.walk(self.tree):
            if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
                decorators = getattr(node, "decorator_list", [])
                found.setdefault(decorators[0].lineno if decorators else node.lineno, []).append(node)
        return found

    @cached_property
    def parents(self) -> dict[ast.AST, ast.AST]:
        """The node in which each node stands."""
        return {child: node for node in ast.walk(self.tree) for child in ast.iter_child_nodes(node)}


_files: dict[str, tuple[tuple[str, ...], File | None]] = {}


def read(path: str) -> File | None:
    """The parsed file, or None where there is no source (or none that parses); read again when it changed."""
    linecache.checkcache(path)
    lines = tuple(linecache.getlines(path))
    known = _files.get(path)
    if known is None or known[0] != lines:
        try:
            file = File(path, ast.parse("".join(lines)), lines) if lines else None
        except SyntaxError:
            file = None
        known = _files[path] = (lines, file)
    return known[1]


@dataclasses.dataclass(frozen=True)
class Function:
    """The source of a function, together with the live object where there is one."""

    node: Definition
    file: File
    # A plain function or None; typed loosely, because a function in an attribute is taken for a method.
    live: Any = None
    scope: Mapping[str, Any] = dataclasses.field(default_factory=dict)

    @property
    def path(self) -> str:
        """The file in which it stands."""
        return self.file.path

    @property
    def line(self) -> int:
        """The line of its `def` (a lambda's own line)."""
        return self.node.lineno

    @property
    def name(self) -> str:
        """Its name, `<lambda>` where it has none."""
        return getattr(self.node, "name", "<lambda>")

    def walk(self) -> Iterator[ast.AST]:
        """Every node of the body, nested functions included, in the order of the source."""
        body = self.node.body if isinstance(self.node.body, list) else [self.node.body]
        nodes = [node for statement in body for node in ast.walk(statement)]
        return iter(sorted(nodes, key=lambda n: (getattr(n, "lineno", 0), getattr(n, "col_offset", 0))))

    def calls(self) -> Iterator[ast.Call]:
        """Every call in the body, nested functions included."""
        return (node for node in self.walk() if isinstance(node, ast.Call))

    @cached_property
    def parameters(self) -> list[str]:
        """Names of the parameters, `self` included, `*args` and `**kwargs` left out."""
        a = self.node.args
        return [p.arg for p in [*a.posonlyargs, *a.args, *a.kwonlyargs]]

    @cached_property
    def local_imports(self) -> dict[str, str]:
        """Names bound by imports inside the function, with the dotted name they mean."""
        names: dict[str, str] = {}
        for node in ast.walk(self.node):
            if isinstance(node, ast.Import):
                names |= {
                    a.asname or a.name.split(".")[0]: a.name if a.asname else a.name.split(".")[0] for a in node.names
                }
            elif isinstance(node, ast.ImportFrom) and node.module and not node.level:
                names |= {a.asname or a.name: f"{node.module}.{a.name}" for a in node.names}
        return names

    @cached_property
    def assigned(self) -> frozenset[str]:
        """Names that the function itself binds (parameters, assignments, loop variables)."""
        stored = {n.id for n in ast.walk(self.node) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
        return frozenset(stored | set(self.parameters))

    def resolve(self, expression: ast.AST, owner: Any = None) -> Any:
        """The object that an expression of names and attributes means, or `UNKNOWN`.

        Args:
            expression: A node of this function.
            owner: The layer that `self` means.
        """
        if isinstance(expression, ast.Attribute):
            base = self.resolve(expression.value, owner)
            if base is UNKNOWN or not (isinstance(base, ModuleType | type) or base is owner):
                return UNKNOWN
            return _attribute(base, expression.attr)
        if not isinstance(expression, ast.Name):
            return UNKNOWN
        name = expression.id
        if owner is not None and self.parameters[:1] == [name]:
            return owner
        if owner is not None and name == "self":
            return owner
        if name in self.local_imports:
            return _imported(self.local_imports[name])
        if name in self.assigned:
            return UNKNOWN
        return self._free(name)

    def _free(self, name: str) -> Any:
        live = self.live
        if live is not None and live.__closure__ and name in live.__code__.co_freevars:
            try:
                return live.__closure__[live.__code__.co_freevars.index(name)].cell_contents
            except ValueError:
                return UNKNOWN
        scope = live.__globals__ if live is not None else self.scope
        return scope.get(name, getattr(builtins, name, UNKNOWN))


def _attribute(base: Any, name: str) -> Any:
    # Instances are read from their own dictionary first: properties run code.
    if not isinstance(base, ModuleType | type) and name in vars(base):
        return vars(base)[name]
    try:
        return (
            getattr(base, name) if isinstance(base, ModuleType | type) else inspect.getattr_static(base, name, UNKNOWN)
        )
    except Exception:
        return UNKNOWN


def _imported(dotted: str) -> Any:
    parts = dotted.split(".")
    for cut in range(len(parts), 0, -1):
        found: Any = sys.modules.get(".".join(parts[:cut]))
        if found is not None:
            for name in parts[cut:]:
                found = _attribute(found, name)
            return found
    return UNKNOWN


def function_of(live: Any) -> Function | None:
    """The source of a live function, through decorators and bound methods; None where there is none."""
    live = getattr(live, "python_function", live)  # tf.function
    try:
        live = inspect.unwrap(live)
    except ValueError:
        return None
    live = getattr(live, "__func__", live)
    code = getattr(live, "__code__", None)
    if not isinstance(code, CodeType) or not isinstance(live, FunctionType):
        return None
    file = read(code.co_filename)
    if file is None:
        return None
    matching = [
        n for n in file.definitions.get(code.co_firstlineno, []) if getattr(n, "name", "<lambda>") == code.co_name
    ]
    if len(matching) > 1:
        matching = sorted((n for n in matching if _holds(n, code)), key=_extent) or matching
    return Function(matching[0], file, live) if matching else None


def _holds(node: Definition, code: CodeType) -> bool:
    """Whether all of a function's instructions stand within a definition: several may begin on one line."""
    if [p.arg for p in (*node.args.posonlyargs, *node.args.args)] != [*code.co_varnames[: code.co_argcount]]:
        return False
    first, last = (node.lineno, node.col_offset), (node.end_lineno or node.lineno, node.end_col_offset or 0)
    places = [(line, column) for line, _, column, _ in code.co_positions() if line is not None and column]
    # The body begins behind the word `lambda`; a lambda that is returned by another begins with the other's body.
    return all(first < place <= last for place in places)


def _extent(node: Definition) -> tuple[int, int]:
    lines = (node.end_lineno or node.lineno) - node.lineno
    return lines, (node.end_col_offset or 0) - (0 if lines else node.col_offset)


class Source:
    """The source of one layer's class and of the user's classes that it inherits from.

    Args:
        layer: The live layer; `self` in its methods.
        home: Says of a path whether it holds the user's own code.
    """

    def __init__(self, layer: Any, home: Callable[[str], bool]) -> None:
        self.layer, self.cls, self.home = layer, type(layer), home

    def method(self, name: str, above: type | None = None) -> Function | None:
        """A method written by the user (in the class or a base that isn't Keras' own), or None."""
        order = list(self.cls.__mro__)
        for cls in order[order.index(above) + 1 if above in order else 0 :]:
            if name in vars(cls):
                member = vars(cls)[name]
                found = function_of(getattr(member, "__func__", member))
                return found if found is not None and self.home(found.path) else None
        return None

    @cached_property
    def node(self) -> ast.ClassDef | None:
        """The class statement, found through one of the class's own methods, else by its name."""
        own = [f for f in map(function_of, vars(self.cls).values()) if f is not None]
        for function in own:
            parent = function.file.parents.get(function.node)
            if isinstance(parent, ast.ClassDef) and parent.name == self.cls.__name__:
                return parent
        file = read(getattr(sys.modules.get(self.cls.__module__), "__file__", None) or "")
        named = (
            [n for n in ast.walk(file.tree) if isinstance(n, ast.ClassDef) and n.name == self.cls.__name__]
            if file
            else []
        )
        return named[-1] if named else None

    @cached_property
    def path(self) -> str | None:
        """The file in which the class stands."""
        for function in map(function_of, vars(self.cls).values()):
            if function is not None:
                return function.path
        return getattr(sys.modules.get(self.cls.__module__), "__file__", None)

    @property
    def line(self) -> int | None:
        """The line of the class statement."""
        return None if self.node is None else self.node.lineno

    def reachable(self, *methods: str) -> list[Function]:
        """The methods, with all that they call of the user's own code: other methods, helpers, nested functions."""
        found: list[Function] = []
        waiting = [f for f in map(self.method, methods) if f is not None]
        while waiting:
            function = waiting.pop(0)
            if any(function.node is known.node for known in found):
                continue
            found.append(function)
            waiting.extend(f for call in function.calls() for f in self._called(function, call))
        return found

    def _called(self, function: Function, call: ast.Call) -> Iterator[Function]:
        target = call.func
        if isinstance(target, ast.Attribute) and isinstance(target.value, ast.Call):
            base = target.value.func
            if isinstance(base, ast.Name) and base.id == "super":
                parent = self.method(target.attr, above=self._owner(function))
                yield from () if parent is None else (parent,)
            return
        if isinstance(target, ast.Attribute) and function.resolve(target.value, self.layer) is self.layer:
            method = self.method(target.attr)
            if method is not None:
                yield method
                return
        live = function.resolve(target, self.layer)
        if live is UNKNOWN or isinstance(live, type):
            return
        helper = function_of(live) if callable(live) else None
        known = helper is not None and self.home(helper.path)
        if not known and callable(live) and isinstance(target, ast.Name):
            helper = _defined(function, target.id)
        if helper is not None and self.home(helper.path):
            yield helper

    def _owner(self, function: Function) -> type | None:
        # By identity: a tensor among the class's attributes would take part in a comparison.
        def defines(cls: type) -> bool:
            return any(getattr(m, "__func__", m) is function.live for m in vars(cls).values())

        return next((cls for cls in self.cls.__mro__ if defines(cls)), None)

    def calls(self, *methods: str) -> Iterator[tuple[Function, ast.Call, Any]]:
        """Every call that the methods reach, with the object that is called (or `UNKNOWN`)."""
        for function in self.reachable(*methods):
            for call in function.calls():
                yield function, call, function.resolve(call.func, self.layer)

    def stores(self, *methods: str) -> Iterator[tuple[Function, ast.Attribute, ast.AST]]:
        """Every `self.name = ...` (augmented, in a tuple) that the methods reach: function, target, statement."""
        for function in self.reachable(*methods):
            for node in function.walk():
                if isinstance(node, ast.Assign | ast.AugAssign | ast.AnnAssign):
                    targets = node.targets if isinstance(node, ast.Assign) else [node.target]
                    inner = [t for given in targets for t in ast.walk(given) if isinstance(t, ast.Attribute)]
                    yield from ((function, t, node) for t in inner if self._is_own(function, t, ast.Store))

    def reads(self, name: str, *methods: str) -> ast.Attribute | None:
        """The first place where the methods read `self.name`."""
        for function in self.reachable(*methods):
            for node in function.walk():
                if isinstance(node, ast.Attribute) and node.attr == name and self._is_own(function, node, ast.Load):
                    return node
        return None

    def _is_own(self, function: Function, node: ast.Attribute, context: type[ast.expr_context]) -> bool:
        return isinstance(node.ctx, context) and function.resolve(node.value, self.layer) is self.layer


def _defined(function: Function, name: str) -> Function | None:
    """The function statement of this name in the same file: a decorator may have made another object of it."""
    found = [n for n in function.file.tree.body if isinstance(n, ast.FunctionDef) and n.name == name]
    scope = function.live.__globals__ if function.live is not None else function.scope
    return Function(found[-1], function.file, None, scope) if found else None


def keyword(call: ast.Call, name: str) -> ast.expr | None:
    """The value of a keyword argument of a call."""
    return next((k.value for k in call.keywords if k.arg == name), None)


def constant(node: ast.AST | None) -> Any:
    """The value of a literal (negative numbers included), or `UNKNOWN`."""
    try:
        return ast.literal_eval(node) if isinstance(node, ast.expr) else UNKNOWN
    except (ValueError, TypeError, SyntaxError, MemoryError, RecursionError):
        return UNKNOWN


def text_of(node: ast.AST) -> str:
    """An expression as the user would write it, cut to 60 characters."""
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= 60 else text[:57] + "..."
