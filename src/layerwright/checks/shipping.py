"""How another process finds the classes of a layer: by their module, or else by their source."""

from __future__ import annotations

import ast
import builtins
import dis
import importlib.util
import os
import sys
import textwrap
from collections.abc import Iterable, Iterator, Mapping
from types import CodeType, FunctionType, ModuleType
from typing import Any

from layerwright.checks.reload import ModuleRef
from layerwright.checks.source import function_of

_NAME_OPS = frozenset({"LOAD_NAME", "LOAD_GLOBAL", "LOAD_FROM_DICT_OR_GLOBALS", "LOAD_CLASSDEREF"})
PLAIN = (int, float, str, bytes, bool, complex, type(None), tuple, list, dict, set, frozenset)


class CannotShip(Exception):
    """A class can't be found by its name elsewhere, and its source can't be sent; the text is the reason."""


def refer(found: Iterable[Any]) -> tuple[tuple[ModuleRef, ...], str | None]:
    """References for another process to these classes and functions, and the reason where one of them has none.

    Keras' own classes need none. A class that stands in a module under its name is imported there. The source is
    sent of one that is defined in a function, a notebook's cell or an interactive session, with the source or value
    of what it refers to.
    """
    shipment = Shipment()
    try:
        for value in found:
            if value.__module__.split(".")[0] not in ("keras", "builtins"):
                shipment.add(value)
    except CannotShip as reason:
        return (), str(reason)
    return tuple(shipment.references()), None


class Shipment:
    """The modules to import elsewhere, and the source of what can't be imported."""

    def __init__(self) -> None:
        self._modules: dict[str, tuple[str | None, list[str]]] = {}
        self._texts: dict[int, str] = {}
        self._names: list[str] = []
        self._kept: list[Any] = []  # so that no id is given twice

    def references(self) -> Iterator[ModuleRef]:
        """What was added, as references: the modules first, because the source imports from them."""
        for name, (path, names) in self._modules.items():
            yield ModuleRef(name, path, None, tuple(dict.fromkeys(names)))
        if self._texts:
            # Annotations may name what only a type checker imports.
            text = "\n\n".join(["from __future__ import annotations", *self._texts.values()]) + "\n"
            yield ModuleRef("shipped", None, text, tuple(self._names))

    def add(self, value: Any) -> None:
        """Make a class or a function known elsewhere."""
        if self._importable(value):
            self._import(value)
        else:
            self._ship(value)
            self._names.append(value.__name__)

    def _importable(self, value: Any) -> bool:
        module = sys.modules.get(value.__module__)
        found: Any = module
        for part in value.__qualname__.split("."):
            found = getattr(found, part, None)
        if found is not value or module is None:
            return False
        if value.__module__ != "__main__":
            return _file(module) is not None or _can_be_found(value.__module__)
        # In a notebook the main module may carry the file of the program that runs the cells.
        return _file(module) in {os.path.abspath(f.__code__.co_filename) for f in _functions(value)}

    def _import(self, value: Any) -> None:
        module = sys.modules[value.__module__]
        known = self._modules.setdefault(module.__name__, (_file(module), []))
        known[1].append(value.__qualname__.split(".")[0])

    def _ship(self, value: Any) -> None:
        if id(value) in self._texts:
            return
        self._kept.append(value)
        self._texts[id(value)] = ""  # it may refer to itself
        text = source_of(value)
        known = scope_of(value)
        needs = []
        for name in sorted(free_names(text) - {value.__name__}):
            if name in known:
                needs.append(self._bind(value, name, known[name]))
            elif not hasattr(builtins, name):
                raise CannotShip(f"`{value.__name__}` refers to `{name}`, a local name where it is defined")
        del self._texts[id(value)]  # behind what it refers to
        self._texts[id(value)] = "\n".join([*filter(None, needs), text])

    def _bind(self, user: Any, name: str, value: Any) -> str:
        """The statement that binds a name to the same value elsewhere; empty where its definition does."""
        if isinstance(value, ModuleType):
            return f"import {value.__name__} as {name}"
        if isinstance(value, type | FunctionType):
            return self._bind_definition(name, value)
        if _is_literal(value):
            return f"{name} = {value!r}"
        home, known = getattr(value, "__module__", None), getattr(value, "__name__", None)
        if isinstance(home, str) and isinstance(known, str) and getattr(sys.modules.get(home), known, None) is value:
            return f"from {home} import {known} as {name}"
        raise CannotShip(f"`{user.__name__}` refers to `{name}`, a {type(value).__name__} that can't be sent")

    def _bind_definition(self, name: str, value: Any) -> str:
        if self._importable(value):
            self._import(value)
            first, *rest = value.__qualname__.split(".")
            line = f"from {value.__module__} import {first} as {name}"
            return f"{line}\n{name} = {'.'.join([name, *rest])}" if rest else line
        self._ship(value)
        return "" if name == value.__name__ else f"{name} = {value.__name__}"


def source_of(value: Any) -> str:
    """The statement that defines a class or a function, wherever `linecache` finds it.

    Raises:
        CannotShip: Where there is none.
    """
    members = [value] if isinstance(value, FunctionType) else list(vars(value).values())
    for function in filter(None, map(function_of, members)):
        node: ast.AST | None = function.node
        while node is not None and getattr(node, "name", None) != value.__name__:
            node = function.file.parents.get(node)
        if isinstance(node, ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef):
            first = min([node.lineno, *(d.lineno for d in node.decorator_list)])
            return textwrap.dedent("".join(function.file.lines[first - 1 : node.end_lineno]))
    where = "an interactive session" if value.__module__ == "__main__" else "a function"
    raise CannotShip(f"`{value.__name__}` is defined in {where}, and its source isn't there")


def scope_of(value: Any) -> Mapping[str, Any]:
    """What the free names of a class or function mean: the module's globals, and what its functions closed over."""
    known: dict[str, Any] = dict(vars(sys.modules[value.__module__])) if value.__module__ in sys.modules else {}
    if isinstance(value, type):
        known |= {base.__name__: base for base in value.__bases__}
    for function in _functions(value):
        known |= function.__globals__
        for name, cell in zip(function.__code__.co_freevars, function.__closure__ or (), strict=True):
            if name != "__class__":
                try:
                    known[name] = cell.cell_contents
                except ValueError:  # not bound yet
                    continue
    return known


def _functions(value: Any) -> Iterator[FunctionType]:
    members = [value] if isinstance(value, FunctionType) else list(vars(value).values())
    for found in map(function_of, members):
        live: Any = None if found is None else found.live
        if live is not None:
            yield live


def free_names(text: str) -> set[str]:
    """The global names that a definition refers to, if it stands alone."""
    whole = f"from __future__ import annotations\n{text}"
    return set(_globals_of(compile(whole, "<shipped>", "exec", dont_inherit=True)))


def _globals_of(code: CodeType) -> Iterator[str]:
    own = {i.argval for i in dis.get_instructions(code) if i.opname in ("STORE_NAME", "STORE_GLOBAL")}
    names = {i.argval for i in dis.get_instructions(code) if i.opname in _NAME_OPS}
    yield from names - own - {"__name__", "__class__", "__module__", "__qualname__"}
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            yield from _globals_of(inner)


def _is_literal(value: Any) -> bool:
    if not isinstance(value, PLAIN):
        return False
    try:
        return bool(ast.literal_eval(repr(value)) == value)
    except Exception:
        return False


def _file(module: ModuleType) -> str | None:
    file = getattr(module, "__file__", None)
    return os.path.abspath(file) if isinstance(file, str) and os.path.isfile(file) else None


def _can_be_found(name: str) -> bool:
    try:
        return importlib.util.find_spec(name) is not None
    except (ImportError, ValueError):
        return False
