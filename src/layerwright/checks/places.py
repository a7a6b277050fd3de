"""Where a module lies on disk, told without importing anything: `importlib.util.find_spec` would import its parents."""

from __future__ import annotations

import dataclasses
import sys
from collections.abc import Iterable, Sequence
from importlib.machinery import ModuleSpec, PathFinder
from pathlib import Path


@dataclasses.dataclass(frozen=True)
class Place:
    """What became of looking for a module.

    Attributes:
        root: The folder to put on Python's path; None where the module is found without.
        file: The path of a module of one file in the working directory: it is checked as a file.
        missing: The part of the dotted name that isn't there; None where all is.
        parent: What was found before the missing part.
        siblings: Names that stand where the missing one was looked for.
    """

    root: str | None = None
    file: str | None = None
    missing: str | None = None
    parent: str | None = None
    siblings: tuple[str, ...] = ()


def locate(name: str) -> Place:
    """Look for a dotted name in the working directory, then on Python's path."""
    here = str(Path.cwd())
    # A folder that only happens to have the name (without __init__.py) doesn't come before an installed package.
    for root, path in ((here, [here]), (None, [p for p in sys.path if p not in ("", here)])):
        first = _spec(name.split(".")[0], path)
        if first is not None and (first.origin is not None or root is None):
            return _inside(name, first, root)
    first = _spec(name.split(".")[0], [here])
    if first is not None:
        return _inside(name, first, here)
    return Place(missing=name.split(".")[0], siblings=tuple(_modules_in([here, *sys.path])))


def _inside(name: str, spec: ModuleSpec, root: str | None) -> Place:
    parts = name.split(".")
    if root is not None and len(parts) == 1 and spec.submodule_search_locations is None:
        return Place(root, spec.origin)
    for depth, part in enumerate(parts[1:], 1):
        parent = ".".join(parts[:depth])
        if _makes_its_modules(spec):
            return Place(root)
        folders = list(spec.submodule_search_locations or ())
        inner = _spec(f"{parent}.{part}", folders) if folders else None
        if inner is None:
            return Place(root, None, part, parent, tuple(_modules_in(folders)))
        spec = inner
    return Place(root)


def _spec(name: str, path: Sequence[str]) -> ModuleSpec | None:
    try:
        return PathFinder.find_spec(name, path)
    except (ImportError, ValueError):
        return None


def _makes_its_modules(spec: ModuleSpec) -> bool:
    """Whether a package brings modules that aren't files below it, as `tensorflow` does with `tensorflow.keras`."""
    if spec.origin is None or not spec.origin.endswith("__init__.py"):
        return False
    text = Path(spec.origin).read_text(encoding="utf-8", errors="replace")
    return any(word in text for word in ("__path__", "sys.modules", "def __getattr__", "lazy"))


def _modules_in(folders: Iterable[str]) -> list[str]:
    names = set()
    for path in (p for folder in folders if Path(folder).is_dir() for p in Path(folder).iterdir()):
        if path.suffix == ".py" and path.stem != "__init__":
            names.add(path.stem)
        elif path.is_dir() and path.name.isidentifier() and path.name != "__pycache__":
            names.add(path.name)
    return sorted(names)
