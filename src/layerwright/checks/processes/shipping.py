"""How another process finds the classes of a layer: by their module, or else by their source."""

from __future__ import annotations

import ast
import builtins
import importlib.util
import os
import sys
from collections.abc import Iterable, Iterator
from types import FunctionType, ModuleType
from typing import Any

from layerwright.checks.processes import definitions
from layerwright.checks.processes.definitions import CannotShip
from layerwright.checks.processes.reload import ModuleRef

PLAIN = (int, float, str, bytes, bool, complex, type(None), tuple, list, dict, set, frozenset)


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
        return _file(module) in {os.path.abspath(f.__code__.co_filename) for f in definitions.functions(value)}

    def _import(self, value: Any) -> None:
        module = sys.modules[value.__module__]
        known = self._modules.setdefault(module.__name__, (_file(module), []))
        known[1].append(value.__qualname__.split(".")[0])

    def _ship(self, value: Any) -> None:
        if id(value) in self._texts:
            return
        self._kept.append(value)
        self._texts[id(value)] = ""  # it may refer to itself
        text = definitions.source_of(value)
        known = definitions.scope_of(value)
        needs = []
        for name in sorted(definitions.free_names(text) - {value.__name__}):
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
