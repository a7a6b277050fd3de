"""The entry: a function's gradient, its tangent, and the gradient's own gradient."""

from __future__ import annotations

import dataclasses
import functools
import re
from collections.abc import Callable, Sequence
from typing import Any

from layerwright.autodiff import elementwise, gufunc, second, sources, types
from layerwright.autodiff.generated import Derived
from layerwright.autodiff.types import Oracle, Types
from layerwright.errors import DifferentiationError


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Derivative(Derived):
    """The gradient of a function, as a function; made by `derive`.

    Attributes:
        name: Its name.
        source: Its text.
        function: The Python function; Numba compiles it, and debuggers step through it.
        arguments: The names of its arguments: the function's inputs, its outputs, a cotangent for each output; without
            a signature it returns a number for each input, with one it writes arrays that follow.
        results: The names of these.
    """

    of: sources.Source
    types: Types
    outputs: tuple[str, ...] | None
    oracle: Oracle

    @functools.cached_property
    def tangent(self) -> Derived:
        """The derivative in a direction: inputs, their tangents, and, with a signature, outputs and theirs to write."""
        if self.outputs is None:
            return elementwise.tangent(self.of, self.types, self.oracle)
        return gufunc.tangent(self.of, self.types, list(self.outputs), self.oracle)

    @functools.cached_property
    def tape_bytes(self) -> Derived:
        """A function of the inputs and the outputs: how many bytes the gradient's tapes take for them."""
        if self.outputs is None:
            raise DifferentiationError(
                f"`{self.of.name}` has no tape: functions of numbers are differentiated forward.", fix="leave it out."
            )
        return gufunc.gradient(self.of, self.types, list(self.outputs), self.oracle, measure=True)

    @functools.cached_property
    def second(self) -> Derived:
        """The gradient of this gradient, by the same rules."""
        return second.second(self.of, self.types, self.outputs, self, self.tangent, self.oracle)


def derive(
    function: Callable[..., Any],
    signature: str | None = None,
    *,
    dtypes: str | Sequence[str] = "float64",
    source: str | None = None,
    oracle: Oracle = types.follow,
) -> Derivative:
    """The gradient of a loop, as plain Python.

    Args:
        function: Takes numbers and returns a number or a tuple of numbers; with a signature, takes inputs and writes
            outputs. A kernel, or what numba.njit makes of a function, is taken for the function.
        signature: The dimensions, as in `"(t),()->(t)"`.
        dtypes: The arguments' dtypes: one for all, or one for each. Integers have no derivative.
        source: The function's text, where Python doesn't know it.
        oracle: Says the types of variables; without, they are followed through the assignments.

    Returns:
        The gradient, with `.source`, `.function`, `.tangent` and `.second`.

    Raises:
        DifferentiationError: Where the function holds what isn't differentiated, at that line.

    Example:
        >>> def power(p, x):
        ...     return p * x**2
        >>> derive(power).function(3.0, 2.0, 12.0, 1.0)
        (4.0, 12.0)
    """
    read = sources.read(function, source)
    names = read.arguments
    ranks, count = _ranks(signature, names, read)
    each = [dtypes] * len(names) if isinstance(dtypes, str) else list(dtypes)
    if len(each) != len(names):
        raise DifferentiationError(
            f"`{read.name}` has {len(names)} arguments, and {len(each)} dtypes were given.", fix="give one for each."
        )
    known: Types = {}
    for name, rank, dtype in zip(names, ranks, each, strict=True):
        kind = types.of_dtype(dtype, rank)
        if kind is None:
            raise DifferentiationError(f"`{name}` can't be {dtype}.", fix="use a float, an integer or a truth value.")
        known[name] = kind
    outputs = None if signature is None else tuple(names[len(names) - count :])
    made = (
        elementwise.gradient(read, known, oracle)
        if outputs is None
        else gufunc.gradient(read, known, list(outputs), oracle)
    )
    return Derivative(made.name, made.source, made.function, made.arguments, made.results, read, known, outputs, oracle)


def _ranks(signature: str | None, names: list[str], read: sources.Source) -> tuple[list[int], int]:
    """The number of dimensions of each argument, and how many are outputs, which have an element at least."""
    if signature is None:
        return [0] * len(names), 0
    inputs, arrow, outputs = signature.partition("->")
    cores = [[c for c in core.split(",") if c.strip()] for core in re.findall(r"\(([^()]*)\)", inputs)]
    written = [[c for c in core.split(",") if c.strip()] for core in re.findall(r"\(([^()]*)\)", outputs)]
    if not arrow or not written or len(cores) + len(written) != len(names):
        raise DifferentiationError(
            f"The signature `{signature}` isn't one of `{read.name}`.",
            expected=f"dimensions for {', '.join(names)}",
            fix='write them as in "(t),()->(t)", outputs last.',
            where=f"{read.file}:{read.tree.lineno}",
        )
    return [len(c) for c in cores] + [max(len(c), 1) for c in written], len(written)
