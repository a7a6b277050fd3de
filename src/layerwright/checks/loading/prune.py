"""A file cut down to its imports, its definitions and what those need; the lines keep their numbers."""

from __future__ import annotations

import ast
import copy
import dataclasses
import itertools
import re
from collections.abc import Iterable

from layerwright.checks.loading.needs import ASSIGNMENTS, IMPORTS, Needs, bound_names, changed_names
from layerwright.checks.scan import Definition, Scan, dotted_name, statements

# Calls that settle how the definitions behave, and are wanted whether or not a name is needed.
SETUP = (
    "sys.path.append",
    "sys.path.insert",
    "sys.path.extend",
    "os.environ.setdefault",
    "os.environ.update",
    "os.putenv",
    "matplotlib.use",
    "warnings.filterwarnings",
    "warnings.simplefilter",
)
SETUP_ENDINGS = (
    "get_custom_objects.update",
    "register_keras_serializable",
    "set_global_policy",
    "set_dtype_policy",
    "set_floatx",
    "set_epsilon",
    "set_image_data_format",
    "enable_unsafe_deserialization",
)
TRAINING = re.compile(
    r"fit(_\w+)?|(train|test)_(on_batch|step)|evaluate|predict|apply_gradients|minimize|search|GradientTape"
    r"|load_(data|weights|model)|download|urlretrieve|get_file"
)


@dataclasses.dataclass(frozen=True)
class Pruned:
    """What is left of a file.

    Attributes:
        statements: What is run, in order.
        dropped: What isn't.
        needed: The names that the definitions need.
    """

    statements: tuple[ast.stmt, ...]
    dropped: tuple[ast.stmt, ...]
    needed: frozenset[str]

    @property
    def remark(self) -> str | None:
        """What was left out, in one sentence, or None."""
        if not self.dropped:
            return None
        count, lines = len(self.dropped), _ranges(self.dropped)
        what = "1 top-level statement was not run" if count == 1 else f"{count} top-level statements were not run"
        return f"{what}: line{'s' * (lines.strip('0123456789') != '')} {lines}."

    def missing(self) -> dict[str, int]:
        """Names that only statements bind that were left out, with the line."""
        kept = {name for node in statements(list(self.statements)) for name in bound_names(node)}
        found: dict[str, int] = {}
        for node in statements(list(self.dropped)):
            for name in bound_names(node) - kept:
                found.setdefault(name, node.lineno)
        return found


def prune(scan: Scan, flags: int = 0) -> Pruned:
    """Choose the statements of a module that are run."""
    needs = Needs(scan, flags)
    pruner = _Pruner(needs)
    kept = pruner.block(scan.tree.body)
    return Pruned(tuple(kept), tuple(pruner.dropped), frozenset(needs.names))


class _Pruner:
    def __init__(self, needs: Needs) -> None:
        self.needs = needs
        self.dropped: list[ast.stmt] = []

    def block(self, body: list[ast.stmt]) -> list[ast.stmt]:
        kept = []
        for node in body:
            mark = len(self.dropped)
            chosen = self.choose(node)
            if chosen is not None:
                kept.append(chosen)
            elif not _says_nothing(node):
                # A block that goes as a whole counts as one statement.
                self.dropped[mark:] = [node]
        return kept

    def choose(self, node: ast.stmt) -> ast.stmt | None:
        if isinstance(node, Definition | IMPORTS):
            return node
        if is_main_guard(node):
            return None
        if isinstance(node, ASSIGNMENTS):
            return node if self._assignment(node) else None
        if isinstance(node, ast.Expr):
            return node if self._setup(node) or (self.needs.changes(node) and not trains(node)) else None
        if isinstance(node, ast.For):
            wanted = any(self.needs.binds(inner) for inner in statements(node.body))
            return node if wanted and not trains(node) else None
        return self._compound(node) if isinstance(node, ast.If | ast.Try | ast.With) else None

    def _assignment(self, node: ast.Assign | ast.AnnAssign | ast.AugAssign) -> bool:
        if _chooses_backend(node) or trains(node):
            return False
        names = bound_names(node)
        dunder = any(name.startswith("__") and name.endswith("__") for name in names)
        bare = isinstance(node, ast.AnnAssign) and node.value is None
        return dunder or bare or self.needs.binds(node) or _sets_environment(node) or self._patches(node)

    def _patches(self, node: ast.stmt) -> bool:
        """`MyLayer.call = faster_call`: part of a definition."""
        return bool(changed_names(node).intersection(self.needs.scan.definitions))

    def _setup(self, node: ast.Expr) -> bool:
        if not isinstance(node.value, ast.Call):
            return False
        call = node.value.func
        if isinstance(call, ast.Call):
            call = call.func
        elif isinstance(call, ast.Attribute) and isinstance(call.value, ast.Call):
            call = ast.Attribute(call.value.func, call.attr)
        dotted = dotted_name(call) or ""
        return (dotted in SETUP or dotted.endswith(SETUP_ENDINGS)) and not _chooses_backend(node)

    def _compound(self, node: ast.If | ast.Try | ast.With) -> ast.stmt | None:
        smaller = copy.copy(node)
        smaller.body = self.block(node.body)
        worth = bool(smaller.body)
        if isinstance(node, ast.If) and isinstance(smaller, ast.If):
            smaller.orelse = self.block(node.orelse)
            worth = worth or bool(smaller.orelse)
        if isinstance(node, ast.Try) and isinstance(smaller, ast.Try):
            # Handlers stay as they are: they run only where what is tried, which was kept, fails.
            smaller.orelse, smaller.finalbody = self.block(node.orelse), self.block(node.finalbody)
        smaller.body = smaller.body or [ast.copy_location(ast.Pass(), node)]
        return smaller if worth else None


def is_main_guard(node: ast.stmt) -> bool:
    """Whether a statement is `if __name__ == "__main__":` without an `else`."""
    return (
        isinstance(node, ast.If)
        and not node.orelse
        and any(isinstance(n, ast.Name) and n.id == "__name__" for n in ast.walk(node.test))
    )


def trains(node: ast.AST) -> bool:
    """Whether a statement calls something that trains, evaluates, or fetches data."""
    called = (n.func for n in ast.walk(node) if isinstance(n, ast.Call))
    return any(TRAINING.fullmatch(f.attr if isinstance(f, ast.Attribute) else getattr(f, "id", "")) for f in called)


def _sets_environment(node: ast.stmt) -> bool:
    targets = node.targets if isinstance(node, ast.Assign) else []
    return any(isinstance(t, ast.Subscript) and dotted_name(t.value) == "os.environ" for t in targets)


def _chooses_backend(node: ast.AST) -> bool:
    # The backend is the command line's to choose, and other processes inherit the environment.
    words = {n.value for n in ast.walk(node) if isinstance(n, ast.Constant) and isinstance(n.value, str)}
    return "KERAS_BACKEND" in words and "environ" in ast.dump(node)


def _says_nothing(node: ast.stmt) -> bool:
    constant = isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    return constant or isinstance(node, ast.Pass) or is_main_guard(node)


def _ranges(nodes: Iterable[ast.stmt]) -> str:
    """`3, 40-77`: the lines of statements, neighbours joined."""
    lines = sorted((n.lineno, n.end_lineno or n.lineno) for n in nodes)
    joined: list[list[int]] = []
    for first, last in lines:
        if joined and first <= joined[-1][1] + 1:
            joined[-1][1] = max(joined[-1][1], last)
        else:
            joined.append([first, last])
    texts = [str(a) if a == b else f"{a}-{b}" for a, b in joined]
    return ", ".join(itertools.islice(texts, 6)) + (", ..." if len(texts) > 6 else "")
