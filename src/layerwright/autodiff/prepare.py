"""The passes that bring a function into the form that is differentiated, one after the other."""

from __future__ import annotations

from layerwright.autodiff.arrays import expand
from layerwright.autodiff.desugar import desugar
from layerwright.autodiff.flatten import flatten
from layerwright.autodiff.inline import inline
from layerwright.autodiff.program import Program, program
from layerwright.autodiff.sources import Source
from layerwright.autodiff.types import Oracle, Types


def prepare(source: Source, arguments: Types, oracle: Oracle) -> tuple[Program, Types]:
    """A function in few forms, and the types of its variables.

    Raises:
        DifferentiationError: Where it holds what isn't differentiated.
    """
    made = program(source)
    inline(made)
    desugar(made)
    expand(made, arguments)
    types = oracle(made.body, arguments, made.namespace)
    flatten(made, types)
    return made, types
