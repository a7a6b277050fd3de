"""Pass: loops of the backward sweep whose rounds may run in any order, since they only add to cotangents.

They keep their own order, in which compilers make the most of memory and of vector instructions.
"""

from __future__ import annotations

import ast

from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.recompute import Locals
from layerwright.autodiff.syntax import base, reads, walk


def any_order(body: list[ast.stmt], loop: ast.For, adjoints: Adjoints, locals_: Locals) -> bool:
    """Whether the rounds of a backward loop don't depend on one another.

    Every round must only add to cotangents that no round reads, and set variables of its own: names of this round, and
    locals of the loop's block with their cotangents, which are 0 between rounds.
    """
    inner = {v for v, local in locals_.of.items() if any(local.statement is s for s in walk(loop.body))}
    own = inner | {adjoints.names[v] for v in inner if v in adjoints.names}
    shared = (adjoints.local - inner) | {d for v, d in adjoints.names.items() if v not in inner}
    added: set[str] = set()
    read: set[str] = set()
    for s in walk(body):
        if isinstance(s, ast.AugAssign):
            target = base(s.target)
            if target in own:
                read |= reads(s)
                continue
            if not isinstance(s.op, ast.Add | ast.Sub) or target not in adjoints.names.values():
                return False
            added.add(target)
            read |= reads(s.value) | (reads(s.target.slice) if isinstance(s.target, ast.Subscript) else set())
        elif isinstance(s, ast.Assign):
            if not isinstance(s.targets[0], ast.Name) or (s.targets[0].id in shared and not _counter(s, loop)):
                return False
            read |= reads(s.value)
        elif isinstance(s, ast.If | ast.While):
            read |= reads(s.test)
        elif isinstance(s, ast.For):
            read |= reads(s.iter)
        else:
            return False
    return not added & read


def _counter(s: ast.Assign, loop: ast.For) -> bool:
    """Whether a statement gives an inner loop's variable its value."""
    inner = {base(f.target) for f in walk(loop.body) if isinstance(f, ast.For)}
    return isinstance(s.targets[0], ast.Name) and s.targets[0].id in inner
