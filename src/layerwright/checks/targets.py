"""The words of the command line as units of work: files, modules and saved models. Runs none of the user's code."""

from __future__ import annotations

import dataclasses
import os
import zipfile
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

from layerwright.checks import places
from layerwright.checks.scan import Scan, read_tree
from layerwright.errors import SourceError, TargetError, nearest

Kind = Literal["file", "module", "model"]
SKIPPED_FOLDERS = frozenset({"__pycache__", "node_modules", "site-packages", "venv", "env", "build", "dist"})
FORMS = "a .py file, a folder, a module or package, package.module:Name, or a .keras file"


@dataclasses.dataclass(frozen=True)
class Target:
    """One unit of work for a worker.

    Attributes:
        kind: `"file"` (a .py file), `"module"` (a module or package that can be imported) or `"model"` (a .keras file).
        location: The path, or the dotted name.
        only: The names to check; empty for all.
        root: The folder from which a module is imported, where that isn't on Python's path by itself.
    """

    kind: Kind
    location: str
    only: tuple[str, ...] = ()
    root: str | None = None

    def __str__(self) -> str:
        return self.location + (":" + ",".join(self.only) if self.only else "")


def expand(words: Sequence[str]) -> list[Target]:
    """The targets that the words of a command line mean, each once, in their order.

    A folder stands for its files that may define a layer or hold an example.

    Raises:
        TargetError: Where a word means nothing that is there, or nothing that can be checked.
    """
    found = (target for word in words for target in _targets(word))
    return list(dict.fromkeys(found))


def _targets(word: str) -> Iterator[Target]:
    location, only = _split(word)
    path = Path(location).expanduser()
    if path.is_dir() and not only:
        yield from _folder(path)
    elif path.is_file():
        yield _file(path, only)
    elif _looks_like_path(location):
        raise _missing(path)
    else:
        yield _module(location, only)


def _split(word: str) -> tuple[str, tuple[str, ...]]:
    location, colon, names = word.rpartition(":")
    only = tuple(name.strip() for name in names.split(","))
    if colon and location and all(name.isidentifier() for name in only):
        return location, only
    return word, ()


def _looks_like_path(word: str) -> bool:
    suffixes = (".py", ".keras", ".ipynb", ".h5", ".hdf5")
    return os.sep in word or "/" in word or word.startswith((".", "~")) or word.endswith(suffixes) or not _dotted(word)


def _dotted(word: str) -> bool:
    return all(part.isidentifier() for part in word.split("."))


def _file(path: Path, only: tuple[str, ...]) -> Target:
    path = path.resolve()
    if path.suffix == ".py":
        _require_names(path, only)
        return Target("file", str(path), only)
    if path.suffix == ".keras":
        if path.is_file() and not zipfile.is_zipfile(path):
            raise TargetError(
                f"`{path.name}` isn't a saved model.",
                expected="a .keras file, which is a zip archive",
                got=f"{path.stat().st_size} bytes of something else",
                fix="save the model with `model.save(...)` again.",
                where=str(path),
            )
        return Target("model", str(path), only)
    fixes = {
        ".ipynb": "save the notebook as a Python file: jupyter nbconvert --to script " + path.name,
        ".h5": "load the model and save it as a .keras file.",
        ".hdf5": "load the model and save it as a .keras file.",
    }
    raise TargetError(
        "Notebooks can't be checked from the command line yet."
        if path.suffix == ".ipynb"
        else f"`{path.name}` isn't a kind of file that can be checked.",
        expected=FORMS,
        got=str(path),
        fix=fixes.get(path.suffix, "name a Python file."),
    )


def _require_names(path: Path, only: tuple[str, ...]) -> None:
    if not only:
        return
    scan = Scan(read_tree(path))
    # A name that is bound in any other way than by `class` or `def` is looked up once the file is loaded.
    unknown = [name for name in only if name not in scan.definitions and not scan.binds(name)]
    if unknown:
        known = [*scan.layers, *scan.examples]
        raise TargetError(
            f"`{path.name}` defines no `{unknown[0]}`.",
            expected=", ".join(f"`{name}`" for name in known) or "a class that derives from Layer or Model",
            got=f"`{unknown[0]}`",
            fix=_instead(nearest(unknown[0], known), f"name a class that `{path.name}` defines."),
        )


def _folder(folder: Path) -> Iterator[Target]:
    files = [path for path in _python_files(folder.resolve()) if _worth_loading(path)]
    if not files:
        raise TargetError(
            f"No file in `{folder}` defines a layer or a model.",
            expected="a class that derives from keras.layers.Layer or keras.Model in one of its .py files",
            got=f"{sum(1 for _ in _python_files(folder))} Python files without one",
            fix="name another folder, or the file that defines the layer.",
        )
    yield from (Target("file", str(path)) for path in files)


def _python_files(folder: Path) -> Iterator[Path]:
    for place, folders, names in os.walk(folder):
        kept = (
            f for f in folders if f not in SKIPPED_FOLDERS and not f.startswith(".") and not f.endswith(".egg-info")
        )
        folders[:] = sorted(f for f in kept if not (Path(place, f) / "pyvenv.cfg").exists())
        yield from (Path(place, name) for name in sorted(names) if name.endswith(".py") and Path(place, name).is_file())


def _worth_loading(path: Path) -> bool:
    """Whether a file may define something to check; one that can't be parsed is kept where it speaks of layers."""
    try:
        scan = Scan(read_tree(path))
    except SourceError:
        return b"Layer" in path.read_bytes() or b"Model" in path.read_bytes()
    except OSError:
        return False
    return bool(scan.layers or scan.examples)


def _missing(path: Path) -> TargetError:
    folder = path.parent
    names = [p.name for p in folder.iterdir() if p.is_dir() or p.suffix in (".py", ".keras")] if folder.is_dir() else []
    close = [str(folder / name) for name in nearest(path.name, sorted(names))]
    what = f"`{path}`" if folder.is_dir() else f"the folder `{folder}`"
    return TargetError(
        f"There is no {what}." if folder.is_dir() else f"There isn't {what}.",
        expected=FORMS,
        got=str(path),
        fix=_instead(close, "write the path of a file that is there."),
    )


def _module(name: str, only: tuple[str, ...]) -> Target:
    found = places.locate(name)
    if found.file is not None and found.file.endswith(".py"):
        return _file(Path(found.file), only)
    if found.missing is None:
        return Target("module", name, only, found.root)
    close = nearest(found.missing, found.siblings)
    parent = name.rsplit(".", 1)[0] if "." in name else None
    whole = [f"{found.parent}.{c}" if found.parent else c for c in close]
    raise TargetError(
        f"There is no module or file `{name}`."
        if found.parent is None
        else f"`{found.parent}` has no module `{found.missing}`.",
        expected=FORMS,
        got=f"`{name}`",
        fix=f"write `{parent}:{found.missing}` to check one class of `{parent}`."
        if found.missing[:1].isupper() and parent == found.parent
        else _instead(whole, "install the package that has it, or write the path of a file."),
    )


def _instead(names: list[str], otherwise: str) -> str:
    return f"write {' or '.join(f'`{name}`' for name in names)}." if names else otherwise
