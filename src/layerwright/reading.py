"""`layerwright check --static`: the sources are read, nothing of the user's and no framework is imported."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from importlib.machinery import PathFinder
from pathlib import Path
from typing import TYPE_CHECKING

from layerwright import session
from layerwright.errors import TargetError
from layerwright.reports.progress import Bar

if TYPE_CHECKING:
    from layerwright.checks.rule import Rule
    from layerwright.checks.targets import Target


def read(targets: Sequence[Target], rules: Sequence[Rule]) -> session.Results:
    """Check the sources of the targets; nothing of the user's and no framework is imported.

    Raises:
        TargetError: Where a target has no source.
    """
    from layerwright.checks.static import check_file

    results = session.Results()
    files = _files(targets)
    with Bar() as bar:
        bar.found(len(files), "the files")
        for file, only in files.items():
            bar.started(file.name)
            results.reports.extend(r for r in check_file(file, rules) if not only or r.problem or r.subject in only)
            bar.finished()
    return session.some(results, targets)


def _files(targets: Sequence[Target]) -> dict[Path, tuple[str, ...]]:
    """Every file once, with the names to check in it; none for all."""
    found: dict[Path, tuple[str, ...]] = {}
    for target in targets:
        for file in sources(target):
            known = found.setdefault(file, target.only)
            found[file] = known + target.only if known and target.only else ()
    return found


def sources(target: Target) -> Iterator[Path]:
    """The Python files of a target.

    Raises:
        TargetError: Where it has none.
    """
    if target.kind == "file":
        yield Path(target.location)
        return
    found = _module_files(target) if target.kind == "module" else []
    if not found:
        raise TargetError(
            f"`{target}` has no source that could be read.",
            expected="a .py file, a folder, or a package written in Python",
            got="a saved model" if target.kind == "model" else "a module without a source file",
            fix="leave out --static, or name the file that defines the layer.",
        )
    yield from found


def _module_files(target: Target) -> list[Path]:
    path = None if target.root is None else [target.root]
    origin: str | None = None
    parts = target.location.split(".")
    for depth in range(1, len(parts) + 1):
        # PathFinder looks at folders only: `importlib.util.find_spec` would import the parents.
        spec = PathFinder.find_spec(".".join(parts[:depth]), path)
        if spec is None:
            return []
        origin, path = spec.origin, list(spec.submodule_search_locations or ())
    if path:
        return sorted(file for folder in path for file in Path(folder).rglob("*.py"))
    return [Path(origin)] if origin is not None and origin.endswith(".py") else []
