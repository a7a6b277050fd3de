"""Second order: the gradient of a gradient, without ever reversing a reversed program.

The second derivatives are symmetric: for `v`, what comes back to the gradient, the derivative for the inputs is the
tangent of the gradient in the direction `v`, and the derivative for the cotangents that of the function in `v`.
"""

from __future__ import annotations

from layerwright.autodiff import elementwise, gufunc, sources
from layerwright.autodiff.generated import Derived, generated
from layerwright.autodiff.sources import Source
from layerwright.autodiff.syntax import Names
from layerwright.autodiff.types import Oracle, Type, Types


def second(
    source: Source, known: Types, outputs: tuple[str, ...] | None, gradient: Derived, tangent: Derived, oracle: Oracle
) -> Derived:
    """The gradient of `gradient`: of its inputs, its outputs and their cotangents it gives gradients of the first.

    Args:
        source, known, outputs: The function, its types, the names of its outputs (None where it returns numbers).
        gradient, tangent: The function's own.
        oracle: Says the types of variables.
    """
    inputs = list(source.arguments) if outputs is None else [a for a in source.arguments if a not in outputs]
    types = _types(inputs, known, outputs or (), gradient)
    read = sources.read(gradient.function)
    if outputs is None:
        return elementwise.gradient(read, types, oracle)
    moved = [x for x in (*inputs, *outputs) if known[x].floating]
    along = gufunc.tangent_along(read, types, list(gradient.results), moved, oracle)
    return _both(inputs, list(outputs), known, gradient, tangent, along)


def _types(inputs: list[str], known: Types, outputs: tuple[str, ...], gradient: Derived) -> Types:
    """The types of the gradient's arguments: those of the function, and floats of the same size beside them."""
    found: Types = dict(known)
    if not outputs:
        bits = max((t.bits for t in known.values() if t.floating), default=64)
        return found | dict.fromkeys(gradient.arguments[len(inputs) :], Type("f", bits))
    count = len(outputs)
    rest = gradient.arguments[len(inputs) + count :]
    for cotangent, out in zip(rest[:count], outputs, strict=True):
        found[cotangent] = _floating(known[out])
    for result, x in zip(rest[count:], inputs, strict=True):
        found[result] = _floating(known[x]).of_rank(max(known[x].rank, 1))
    return found


def _floating(kind: Type) -> Type:
    return kind if kind.floating else Type("f", 32, kind.rank)


def _both(
    inputs: list[str], outputs: list[str], known: Types, gradient: Derived, tangent: Derived, along: Derived
) -> Derived:
    """One function that runs both tangents, and writes a gradient for each of the gradient's inputs."""
    names = Names({*gradient.arguments, tangent.name, along.name, "np"})
    taken = list(gradient.arguments[: len(inputs) + 2 * len(outputs)])
    cotangents = taken[len(inputs) + len(outputs) :]
    given = {r: names.fresh(f"v_{r.removeprefix('d_')}") for r in gradient.results}
    back = {a: names.fresh(f"g_{a}") for a in taken}
    arguments = [*taken, *gradient.results, *given.values(), *back.values()]
    called = names.fresh(f"{gradient.name}_backward")
    directions = dict(zip(inputs, given.values(), strict=True))
    moved = [v if known[x].rank else f"{v}[0]" for x, v in directions.items() if known[x].floating]
    body = [
        f"# The gradient of `{gradient.name}`: tangents of the function and of its gradient, in the same direction."
    ]
    again = [names.fresh(f"{o}_again") for o in outputs]
    body += [f"{a} = np.empty_like({o})" for a, o in zip(again, outputs, strict=True)]
    tangents = [back[c] for o, c in zip(outputs, cotangents, strict=True) if known[o].floating]
    body.append(f"{tangent.name}({', '.join([*inputs, *moved, *again, *tangents])})")
    first = [names.fresh(f"{r}_again") for r in gradient.results]
    body += [f"{a} = np.empty_like({r})" for a, r in zip(first, gradient.results, strict=True)]
    results = [back[x] for x in inputs]
    body.append(f"{along.name}({', '.join([*taken, *moved, *tangents, *first, *results])})")
    body += [f"{back[o]}[:] = 0.0" for o in outputs]
    body += [f"{back[c]}[:] = 0.0" for o, c in zip(outputs, cotangents, strict=True) if not known[o].floating]
    text = "\n    ".join([f"def {called}({', '.join(arguments)}):", *body]) + "\n"
    import numpy as np

    namespace = {"np": np, tangent.name: tangent.function, along.name: along.function}
    return generated(called, text, namespace, arguments, list(back.values()))
