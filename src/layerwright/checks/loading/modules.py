"""The user's code, loaded in a worker: a file by its imports, definitions and what those need; a module as it is."""

from __future__ import annotations
import __future__

import ast
import dataclasses
import hashlib
import importlib
import re
import sys
from importlib.machinery import ModuleSpec, SourceFileLoader
from pathlib import Path
from types import ModuleType

from layerwright.checks.attempt import attempt, foreign
from layerwright.checks.loading.prune import prune
from layerwright.checks.loading.running import CannotLoad, Run, run
from layerwright.checks.report import Problem
from layerwright.checks.scan import Scan, read_tree


@dataclasses.dataclass(frozen=True)
class Loaded:
    """A file or module whose definitions are there.

    Attributes:
        module: The module, in `sys.modules` under its name.
        remarks: What a reader should know of how it was loaded.
        path: The file, where one file was loaded.
        missing: Names that the file would bind and that aren't there, with the reason.
        broken: Classes whose own statement raised.
    """

    module: ModuleType
    remarks: tuple[str, ...] = ()
    path: str | None = None
    missing: dict[str, str] = dataclasses.field(default_factory=dict)
    broken: dict[str, Problem] = dataclasses.field(default_factory=dict)


_loaded: dict[str, Loaded] = {}


def load_file(path: str | Path) -> Loaded:
    """Load a file without running what trains, prints or plots.

    Run are: imports; functions and classes; assignments (also under `if`, `try`, `with` and `for`) of names that a
    layer's code, a decorator, a default or a class body refers to, directly or through other definitions; and calls
    that settle paths, policies and registries. `sys.argv` is empty meanwhile.

    Raises:
        SourceError: Where it isn't Python.
        CannotLoad: Where an import that is needed fails.
    """
    path = Path(path).resolve()
    tree = read_tree(path)
    flags = _future_flags(tree)
    pruned = prune(Scan(tree), flags)
    name, package = _name_of(path, tree)
    if name in sys.modules and package:
        # Its package imports it: it is there already, and a second copy would have classes of the same names.
        remark = "It was run as a whole, because the package that it belongs to imports it."
        return _loaded.get(name) or _keep(Loaded(sys.modules[name], (remark,), str(path)))
    module = sys.modules[name] = _new_module(name, package, path)
    module.__doc__ = ast.get_docstring(tree, clean=False)
    try:
        done = run(module, path, pruned, flags)
    except CannotLoad:
        sys.modules.pop(module.__name__, None)
        raise
    remarks = [*([pruned.remark] if pruned.remark else []), *done.remarks]
    return _keep(_result(module, path, remarks, done))


def _result(module: ModuleType, path: Path, remarks: list[str], done: Run) -> Loaded:
    return Loaded(module, tuple(remarks), str(path), done.missing, done.broken)


def _keep(loaded: Loaded) -> Loaded:
    _loaded[loaded.module.__name__] = loaded
    return loaded


def module_name(path: str | Path) -> str:
    """The name under which a file is put in `sys.modules`: the same for the same path, in every process."""
    path = Path(path).resolve()
    stem = re.sub(r"\W", "_", path.stem)
    return f"layerwright_file_{stem}_{hashlib.sha256(str(path).encode()).hexdigest()[:8]}"


def _name_of(path: Path, tree: ast.Module) -> tuple[str, str]:
    """The module's name, and its package: empty unless relative imports need one."""
    package, root = _package_of(path)
    relative = any(isinstance(n, ast.ImportFrom) and n.level for n in ast.walk(tree))
    _put_on_path(root, path.parent)
    if not (relative and package):
        return module_name(path), ""
    if path.stem == "__init__":
        _import(package.rpartition(".")[0], path)
        return package, package
    _import(package, path)
    return f"{package}.{path.stem}", package


def _new_module(name: str, package: str, path: Path) -> ModuleType:
    module = ModuleType(name)
    module.__file__ = str(path)
    module.__package__ = package
    module.__spec__ = ModuleSpec(name, SourceFileLoader(name, str(path)), origin=str(path))
    module.__loader__ = module.__spec__.loader
    if package and path.stem == "__init__":
        module.__path__ = [str(path.parent)]
    return module


def _package_of(path: Path) -> tuple[str, Path]:
    """The package in which a file lies (empty for none), and the folder from which that is imported."""
    parts: list[str] = []
    folder = path.parent
    while (folder / "__init__.py").is_file() and folder.name.isidentifier():
        parts.insert(0, folder.name)
        folder = folder.parent
    return ".".join(parts), folder


def _put_on_path(root: Path, folder: Path) -> None:
    for place, first in ((str(root), True), (str(folder), False)):
        if place not in sys.path:
            # The folder inside a package comes last: its files must not hide modules of Python's library.
            sys.path.insert(0, place) if first else sys.path.append(place)


def _future_flags(tree: ast.Module) -> int:
    features = (
        a.name for n in tree.body if isinstance(n, ast.ImportFrom) and n.module == "__future__" for a in n.names
    )
    flags = 0
    for name in features:
        flags |= getattr(__future__, name).compiler_flag
    return flags


def load_module(name: str, root: str | None = None) -> Loaded:
    """Import a module or package in the ordinary way.

    Args:
        name: Its dotted name.
        root: A folder to put on Python's path first.

    Raises:
        CannotLoad: Where the import raises.
    """
    if root is not None and root not in sys.path:
        sys.path.insert(0, root)
    module = _import(name, None)
    return _keep(Loaded(module, (), getattr(module, "__file__", None)))


def _import(name: str, path: Path | None) -> ModuleType:
    if not name:
        return ModuleType("")
    done = attempt(lambda: importlib.import_module(name), lambda file: not foreign(file))
    if done.failure is None:
        return done.get()
    at = done.failure.at
    missing = getattr(done.failure.error, "name", None) if isinstance(done.failure.error, ModuleNotFoundError) else None
    where = (at.path, at.line) if at and at.path != __file__ else (str(path) if path else None, None)
    help_ = f"install `{missing.split('.')[0]}`." if missing else "correct the line that raises."
    raise CannotLoad(Problem("import-failed", f"`{name}` can't be imported: {done.failure.summary}.", help_, *where))


def why_missing(module: str, error: BaseException) -> str | None:
    """Why the name that a `NameError` is about isn't there, where a file's loading left it out; else None."""
    name = getattr(error, "name", None)
    loaded = _loaded.get(module)
    if not isinstance(error, NameError) or loaded is None or not name or name not in loaded.missing:
        return None
    return f"`{name}` is not there: {loaded.missing[name]}."
