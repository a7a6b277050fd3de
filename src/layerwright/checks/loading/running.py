"""Running the chosen statements of a file in a module of its own, each guarded, at its own lines."""

from __future__ import annotations

import ast
import dataclasses
import sys
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import ModuleType
from typing import Any

from layerwright.checks.attempt import attempt
from layerwright.checks.loading.needs import IMPORTS, bound_names
from layerwright.checks.loading.prune import Pruned
from layerwright.checks.report import Problem
from layerwright.checks.scan import Definition

MARKERS = ("pyproject.toml", "setup.py", "setup.cfg", ".git", "requirements.txt")


class CannotLoad(Exception):
    """A file or module can't be loaded.

    Attributes:
        problem: Why, at which line, and what would help.
    """

    def __init__(self, problem: Problem) -> None:
        super().__init__(str(problem))
        self.problem = problem


@dataclasses.dataclass
class Run:
    """What running a file's statements left behind.

    Attributes:
        remarks: What failed without keeping anything from being checked.
        missing: Names that aren't there, with the reason.
        broken: Classes and functions whose own statement raised.
    """

    remarks: list[str] = dataclasses.field(default_factory=list)
    missing: dict[str, str] = dataclasses.field(default_factory=dict)
    broken: dict[str, Problem] = dataclasses.field(default_factory=dict)


def run(module: ModuleType, path: Path, pruned: Pruned, flags: int) -> Run:
    """Run the statements that were kept.

    Raises:
        CannotLoad: Where an import fails that something needs.
    """
    result = Run()
    for name, line in pruned.missing().items():
        result.missing[name] = f"line {line}, which binds it, was not run"
    with _as_script(path):
        for node in pruned.statements:
            _run_one(module, path, node, flags, pruned, result)
    return result


def _run_one(module: ModuleType, path: Path, node: ast.stmt, flags: int, pruned: Pruned, result: Run) -> None:
    code = compile(ast.Module([node], []), str(path), "exec", flags, dont_inherit=True)

    def execute() -> None:
        exec(code, vars(module))

    done = attempt(execute, lambda file: file == str(path))
    while done.failure is not None and _add_root(done.failure.error, path):
        done = attempt(execute, lambda file: file == str(path))
    if done.failure is None:
        return
    line = done.failure.at.line if done.failure.at else node.lineno
    names = bound_names(node)
    if isinstance(node, Definition):
        help_ = "correct the line, so that the definition can be made."
        message = f"`{node.name}` can't be defined: {done.failure.summary}."
        result.broken[node.name] = Problem(
            "import-failed", message + _reason(done.failure.error, result), help_, str(path), line
        )
    elif _is_import(node) and (names & pruned.needed or "*" in {a.name for a in getattr(node, "names", [])}):
        raise CannotLoad(_import_problem(done.failure.error, done.failure.summary, path, line))
    else:
        missing = f"line {line} raised {done.failure.summary}"
        result.missing.update(dict.fromkeys(names, missing))
        needed = sorted(names & pruned.needed)
        result.remarks.append(
            missing[0].upper()
            + missing[1:]
            + (f"; `{'`, `'.join(needed)}` is not there." if needed else "; nothing that is checked needs it.")
        )


def _is_import(node: ast.stmt) -> bool:
    return isinstance(node, IMPORTS)


def _reason(error: BaseException, result: Run) -> str:
    reason = result.missing.get(getattr(error, "name", None) or "") if isinstance(error, NameError) else None
    return f" ({reason})" if reason else ""


def _import_problem(error: BaseException, summary: str, path: Path, line: int) -> Problem:
    name = getattr(error, "name", None) if isinstance(error, ModuleNotFoundError) else None
    help_ = (
        f"install `{name.split('.')[0]}`, or run the check where it is installed." if name else "correct the import."
    )
    return Problem("import-failed", f"`{path.name}` can't be imported: {summary}.", help_, str(path), line)


def _add_root(error: BaseException, path: Path) -> bool:
    """Put the folder on the path from which a missing module of the user's project can be imported."""
    if not isinstance(error, ModuleNotFoundError) or not error.name:
        return False
    top = error.name.split(".")[0]
    for folder in path.parents[:6]:
        for place in (folder, folder / "src"):
            there = (place / f"{top}.py").is_file() or (place / top).is_dir()
            if there and str(place) not in sys.path and place != path.parent:
                sys.path.append(str(place))
                return True
        if any((folder / marker).exists() for marker in MARKERS):
            break
    return False


@contextmanager
def _as_script(path: Path) -> Iterator[None]:
    """The command line's words are ours, not the file's: it sees none."""
    words: Any = sys.argv
    sys.argv = [str(path)]
    try:
        yield
    finally:
        sys.argv = words
