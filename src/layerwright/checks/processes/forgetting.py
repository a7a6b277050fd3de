"""The user's modules, classes and settings in a process that serves many: found, and forgotten again."""

from __future__ import annotations

import importlib
import linecache
import os
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from types import FunctionType, ModuleType
from typing import Any

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import foreign


def custom_objects(named: list[ModuleType]) -> dict[str, Any]:
    """The classes and functions of the user's modules by name: what a careful user passes to `load_model`."""
    others = [sys.modules[name] for name in _users()]
    found: dict[str, Any] = {}
    for module in [*named, *others]:
        for value in list(vars(module).values()):
            if isinstance(value, type | FunctionType) and value.__module__ == module.__name__:
                for inner in _nested(value):
                    found.setdefault(inner.__name__, inner)
    return found


def _nested(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, type):
        for inner in list(vars(value).values()):
            if isinstance(inner, type) and inner.__qualname__.startswith(value.__qualname__ + "."):
                yield from _nested(inner)


@contextmanager
def everything(paths: list[str]) -> Iterator[None]:
    """Run the user's code with these import paths, and leave no module of the user's, class or setting behind."""
    before, here = list(sys.path), os.getcwd()
    sys.path.extend(path for path in paths if path not in sys.path)
    importlib.invalidate_caches()
    registered: Mapping[str, Any] = {}
    try:
        with internals.global_state_kept():
            try:
                yield
            finally:
                registered = dict(keras.saving.get_custom_objects())
    finally:
        sys.path[:] = before
        os.chdir(here)
        for name in _users():
            del sys.modules[name]
        # A library stays imported, and doesn't register its classes again when it is imported again.
        stay = {name: value for name, value in registered.items() if getattr(value, "__module__", None) in sys.modules}
        for name, value in stay.items():
            keras.saving.get_custom_objects().setdefault(name, value)
        linecache.clearcache()


def _users() -> list[str]:
    """The names of the user's modules: neither Python's, nor a library's, nor there before the first request."""
    found = [(name, module) for name, module in list(sys.modules.items()) if name.split(".")[0] not in _kept]
    return [name for name, module in found if isinstance(module, ModuleType) and not _foreign(module)]


def _foreign(module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *list(getattr(module, "__path__", []))[:1]]
    place = next((place for place in places if isinstance(place, str)), None)
    return place is None or foreign(place)


_kept: frozenset[str] = frozenset({"__main__"})


def keep_modules() -> None:
    """Never forget the modules that are there now: the frameworks and layerwright."""
    global _kept
    _kept = frozenset(name.split(".")[0] for name in sys.modules)
