"""Derivatives of functions that write arrays: the gradient by reverse mode, and the tangent by forward mode."""

from __future__ import annotations

import ast
import dataclasses

import numpy as np

from layerwright.autodiff import types
from layerwright.autodiff.activity import is_allocation, useful, varied
from layerwright.autodiff.adjoint import Adjoints
from layerwright.autodiff.calculus import Calculus
from layerwright.autodiff.dead import Live
from layerwright.autodiff.exits import Exits
from layerwright.autodiff.forward import Direction, Forward
from layerwright.autodiff.generated import Derived
from layerwright.autodiff.hoist import hoist
from layerwright.autodiff.indexing import Accesses, lowest, never_read_before, written_once
from layerwright.autodiff.prepare import prepare
from layerwright.autodiff.program import Program
from layerwright.autodiff.recompute import Locals
from layerwright.autodiff.record import Record
from layerwright.autodiff.returns import without_returns
from layerwright.autodiff.sources import Source
from layerwright.autodiff.sweeps import Sweeps
from layerwright.autodiff.syntax import (
    assign,
    base,
    constant,
    expression,
    name,
    nodes,
    reads,
    refuse,
    rename,
    targets,
    walk,
    writes,
)
from layerwright.autodiff.types import Oracle, Types
from layerwright.autodiff.writer import Comment, written


@dataclasses.dataclass(frozen=True)
class Passes:
    """Which of the passes run that make a gradient lean; all of them, save in tests of each.

    Attributes:
        record: Tape only what is read backward.
        locals: Compute cheap local variables again, tape others once a block.
        once: Don't tape elements that are written once, or never read before.
        reorder: Run loops that only add up in their own order.
    """

    record: bool = True
    locals: bool = True
    once: bool = True
    reorder: bool = True


def gradient(
    source: Source,
    arguments: Types,
    outputs: list[str],
    oracle: Oracle = types.follow,
    passes: Passes | None = None,
    measure: bool = False,
) -> Derived:
    """`f_backward(inputs..., outputs..., cotangents..., gradients...)`, which writes the gradients.

    Args:
        source, arguments, outputs: The function, its types, the names of its outputs.
        oracle: Says the types of variables.
        passes: Which passes run; all of them.
        measure: Make `f_tape(inputs..., outputs...)` instead, which only says how many bytes the tapes take.
    """
    passes = passes or Passes()
    program, found = prepare(source, arguments, oracle)
    _check(program, outputs)
    inputs = [a for a in program.arguments if a not in outputs]
    fresh = program.names.fresh
    own = _own_outputs(program, outputs, found)
    given = {out: fresh(f"d_{out}") for out in outputs}
    gradients = {x: fresh(f"d_{x}") for x in inputs}
    program.body = without_returns(program.body, program.names, "result").body
    for s in walk(program.body):
        found.update({t.id: types.TRUTH for t in targets(s) if isinstance(t, ast.Name) and t.id not in found})
    hoist(program, found)
    exits = Exits(program, found)
    every = Calculus(program, found)
    floating = [x for x in inputs if found[x].floating]
    active = varied(program.body, every, floating) & useful(program.body, every, own.values())
    accesses = Accesses(program.body, {v for v, t in found.items() if t.rank})
    once = written_once(accesses, _empty(program, every)) if passes.once else set()
    # A cotangent that is given isn't to be written to: it is copied where it is added to, or cleared.
    only_written = once - {base(r.node) for r in accesses.reads}
    names = {own[out]: given[out] if own[out] in only_written else fresh(given[out]) for out in outputs}
    names |= {x: d if found[x].rank else fresh(f"{d}_sum") for x, d in gradients.items() if x in active}
    adjoints = Adjoints(program, found, active, dict(names), once)
    exempt = never_read_before(accesses) if passes.once else set()
    exempt |= {id(w.statement) for w in accesses.writes if base(w.node) in once}
    stores: dict[str, int] = {}
    for w in accesses.writes:
        if id(w.statement) not in exempt:
            stores[base(w.node)] = max(stores.get(base(w.node), 0), len(w.loops))
    locals_ = Locals(adjoints, lowest(program.body), stores, passes.locals)
    record = Record(adjoints, locals_, exempt, not passes.record)
    live = Live(adjoints, locals_, record, exits.flags)
    sweeps = Sweeps(adjoints, locals_, record, live, exits.flags, set(own.values()), passes.reorder)
    back = sweeps.backward(program.body)
    forth = sweeps.forward(program.body, covered=False)
    body = [*sweeps.tapes.start(), *sweeps.initial(program.body), Comment("Forward."), *forth]
    if measure:
        body.append(ast.Return(sweeps.tapes.size()))
        return written(program, f"{source.name}_tape", [*inputs, *outputs], body, ["bytes"], "The size of the tapes")
    body.append(Comment("Backward."))
    body += [*_starts(sweeps, names, own, given, gradients), *back, *_ends(names, gradients, found)]
    called = [*inputs, *outputs, *given.values(), *gradients.values()]
    return written(program, f"{source.name}_backward", called, body, list(gradients.values()), "The gradient")


def _check(program: Program, outputs: list[str]) -> None:
    """Refuse what a function that writes its outputs doesn't do."""
    for s in walk(program.body):
        if isinstance(s, ast.Return) and s.value is not None:
            refuse(s, f"`{program.source.name}` returns a value, and writes its outputs.", fix="write `return` alone.")
        for t in targets(s):
            if isinstance(t, ast.Subscript) and base(t) in program.arguments and base(t) not in outputs:
                refuse(s, f"`{program.source.name}` writes into its input `{base(t)}`.",
                       fix=f"copy it: `own = {base(t)}.copy()`.")  # fmt: skip
    for out in outputs:
        if not any(out in writes([s]) for s in program.body):
            refuse(program.source.tree, f"The output `{out}` is never written.", fix=f"write every element of `{out}`.")
        first = next((s for s in walk(program.body) if _touches(s, out)), None)
        if first is not None and _reads_itself(first, out) and not _written_around(program.body, first, out):
            refuse(first, f"The output `{out}` is read before it is written.", fix=f"write `{out}` first.")


def _reads_itself(s: ast.stmt, variable: str) -> bool:
    """Whether a statement that touches an array reads elements of it."""
    return not isinstance(s, ast.Assign) or variable not in writes([s]) or variable in reads(s.value)


def _written_around(statements: list[ast.stmt], place: ast.stmt, variable: str) -> bool:
    """Whether a loop around a statement writes an array in another one, which may have come before."""
    for s in statements:
        if isinstance(s, ast.If | ast.For | ast.While) and any(place is inner for inner in walk([s])):
            others = [i for i in walk([s]) if isinstance(i, ast.Assign) and i is not place and variable in writes([i])]
            return bool(others and not isinstance(s, ast.If)) or _written_around([*s.body, *s.orelse], place, variable)
    return False


def _touches(s: ast.stmt, variable: str) -> bool:
    """Whether a statement itself reads or writes elements of an array."""
    parts = [s.test] if isinstance(s, ast.If | ast.While) else [s.iter] if isinstance(s, ast.For) else [s]
    shapes = {id(n.value) for p in parts for n in nodes(p) if isinstance(n, ast.Attribute)}
    found = [n for p in parts for n in nodes(p) if isinstance(n, ast.Name) and n.id == variable]
    return any(id(n) not in shapes for n in found)


def _own_outputs(program: Program, outputs: list[str], found: Types) -> dict[str, str]:
    """The outputs, computed again in arrays of the function's own: those given are finished, and read-only."""
    own = {out: program.names.fresh(f"{out}_again") for out in outputs}
    program.body = rename(program.body, dict(own))
    numpy = name(program.bind("np", np))
    made: list[ast.stmt] = []
    for out, again in own.items():
        made.append(assign(again, expression("np.empty_like(a)", np=numpy, a=name(out))))
        found[again] = found[out]
    program.body = [*made, *program.body]
    return own


def _empty(program: Program, calculus: Calculus) -> set[str]:
    """The arrays that have no content where they are made."""
    made = [s for s in walk(program.body) if is_allocation(s, calculus) and isinstance(s, ast.Assign)]
    return {base(s.targets[0]) for s in made if ".empty" in ast.unparse(s.value)}


def _starts(
    sweeps: Sweeps, names: dict[str, str], own: dict[str, str], given: dict[str, str], gradients: dict[str, str]
) -> list[ast.stmt]:
    """Every cotangent's first value."""
    out: list[ast.stmt] = []
    adjoints, found = sweeps.adjoints, sweeps.types
    taken = set(names.values())
    for x, d in gradients.items():
        whole = expression("d[:]", d=name(d))
        if x in names and not found[x].rank:
            out.append(assign(names[x], constant(0.0)))
        elif x in names or x not in adjoints.active:
            out.append(assign(whole, constant(0.0)))
    for o, again in own.items():
        if names[again] != given[o] and again in adjoints.active:
            out.append(assign(names[again], expression("d.copy()", d=name(given[o]))))
    for variable, d in adjoints.names.items():
        if d not in taken and variable in adjoints.active and not found[variable].rank:
            out.append(assign(d, adjoints.calculus.typed(constant(0.0), found[variable])))
    return out


def _ends(names: dict[str, str], gradients: dict[str, str], found: Types) -> list[ast.stmt]:
    """The gradients of numbers are written."""
    return [
        assign(expression("d[0]", d=name(d)), name(names[x]))
        for x, d in gradients.items()
        if x in names and not found[x].rank
    ]


def tangent(source: Source, arguments: Types, outputs: list[str], oracle: Oracle = types.follow) -> Derived:
    """`f_tangent(inputs..., tangents of the floating inputs..., outputs..., tangents of the outputs...)`."""
    inputs = [a for a in source.arguments if a not in outputs]
    return tangent_along(source, arguments, outputs, [x for x in inputs if arguments[x].floating], oracle)


def tangent_along(
    source: Source, arguments: Types, outputs: list[str], seeds: list[str], oracle: Oracle = types.follow
) -> Derived:
    """The tangent in a direction in which only some of the inputs move."""
    program, found = prepare(source, arguments, oracle)
    inputs = [a for a in program.arguments if a not in outputs]
    moved = [o for o in outputs if found[o].floating]
    names = {v: program.names.fresh(f"t_{v}") for v in (*seeds, *moved)}
    active = varied(program.body, Calculus(program, found), seeds) | set(moved)
    forward = Forward(program, found, [Direction(dict(names), "t_{}", active)])
    body = forward.block(program.body)
    called = [*inputs, *(names[x] for x in seeds), *outputs, *(names[o] for o in moved)]
    results = [*outputs, *(names[o] for o in moved)]
    return written(program, f"{source.name}_tangent", called, body, results, "The tangent")
