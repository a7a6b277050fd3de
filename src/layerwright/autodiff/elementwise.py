"""Derivatives of functions of numbers, by forward mode: the gradient, and the tangent."""

from __future__ import annotations

import ast

from layerwright.autodiff import types
from layerwright.autodiff.activity import varied
from layerwright.autodiff.calculus import Calculus, plus
from layerwright.autodiff.forward import Direction, Forward
from layerwright.autodiff.generated import Derived
from layerwright.autodiff.prepare import prepare
from layerwright.autodiff.program import Program
from layerwright.autodiff.sources import Source
from layerwright.autodiff.syntax import assign, name, refuse, walk, writes
from layerwright.autodiff.types import Oracle, Type, Types
from layerwright.autodiff.writer import written


def returned(program: Program) -> int:
    """How many numbers a function returns, everywhere."""
    found = [s for s in walk(program.body) if isinstance(s, ast.Return)]
    counts = {len(s.value.elts) if isinstance(s.value, ast.Tuple) else int(s.value is not None) for s in found}
    if len(counts) != 1 or 0 in counts:
        refuse(program.source.tree, f"`{program.source.name}` doesn't return the same number of values everywhere.",
               fix="return a number, or a tuple of numbers, at every end.")  # fmt: skip
    return counts.pop()


def gradient(source: Source, arguments: Types, oracle: Oracle = types.follow) -> Derived:
    """`f_backward(inputs..., outputs..., cotangents...) -> a number for each input`, for `f(inputs...) -> outputs`."""
    program, found = prepare(source, arguments, oracle)
    count, fresh = returned(program), program.names.fresh
    outputs = [fresh("y" if count == 1 else f"y{k}") for k in range(count)]
    cotangents = [fresh(f"d_{y}") for y in outputs]
    calculus = Calculus(program, found)
    directions = {
        x: Direction({}, "{}_" + x, varied(program.body, calculus, [x])) for x in program.arguments if found[x].floating
    }

    def leave(forward: Forward, values: list[ast.expr]) -> list[ast.stmt]:
        out: list[ast.stmt] = []
        gradients = [_summed(forward, directions.get(x), found[x], values, cotangents, out) for x in program.arguments]
        whole = gradients[0] if len(gradients) == 1 else ast.Tuple(gradients, ast.Load())
        return [*out, ast.Return(whole)]

    forward = Forward(program, found, list(directions.values()), leave)
    body = [*_seeds(forward, program, directions, found), *forward.block(program.body)]
    called = [*program.arguments, *outputs, *cotangents]
    return written(
        program, f"{source.name}_backward", called, body, [f"d_{x}" for x in program.arguments], "The gradient"
    )


def _seeds(forward: Forward, program: Program, directions: dict[str, Direction], found: Types) -> list[ast.stmt]:
    """Each input's derivative in each direction, where it is used: 1 in its own, 0 in the others."""
    written = writes(program.body)
    out: list[ast.stmt] = []
    for x, d in directions.items():
        if x not in written:
            d.one = x
        for other in program.arguments:
            if other in written and other in d.active:
                seed = forward.calculus.typed(ast.Constant(1.0), found[x]) if other == x else forward.zero(other)
                out.append(assign(forward.derivative(name(other), d), seed))
    return out


def _summed(
    forward: Forward,
    d: Direction | None,
    kind: Type,
    values: list[ast.expr],
    cotangents: list[str],
    out: list[ast.stmt],
) -> ast.expr:
    """The gradient for one input: the derivatives of what is returned, weighted with the cotangents."""
    total: ast.expr | None = None
    for value, cotangent in zip(values, cotangents, strict=True):
        derivative = forward.total(forward.calculus.terms(value), d) if d is not None else None
        if derivative is None:
            continue
        part = forward.scaled(name(cotangent), forward.calculus.typed(derivative, kind), forward.singular, out)
        total = plus(total, part)
    return forward.calculus.typed(ast.Constant(0.0), kind) if total is None else total


def tangent(source: Source, arguments: Types, oracle: Oracle = types.follow) -> Derived:
    """`f_tangent(inputs..., tangents of the floating inputs...) -> the tangents of the outputs`."""
    program, found = prepare(source, arguments, oracle)
    returned(program)
    seeds = [x for x in program.arguments if found[x].floating]
    names = {x: program.names.fresh(f"t_{x}") for x in seeds}
    direction = Direction(names, "t_{}", varied(program.body, Calculus(program, found), seeds))

    def leave(forward: Forward, values: list[ast.expr]) -> list[ast.stmt]:
        totals = [forward.total(forward.calculus.terms(v), direction) for v in values]
        given: list[ast.expr] = [ast.Constant(0.0) if t is None else t for t in totals]
        return [ast.Return(given[0] if len(given) == 1 else ast.Tuple(given, ast.Load()))]

    body = Forward(program, found, [direction], leave).block(program.body)
    called = [*program.arguments, *(names[x] for x in seeds)]
    return written(program, f"{source.name}_tangent", called, body, ["t_y"], "The tangent")
