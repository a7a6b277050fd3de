"""Two layers of one class, part by part: what one has and the other lacks."""

from __future__ import annotations

import dataclasses
from collections.abc import Iterator
from typing import Any

from layerwright.checks import internals
from layerwright.checks.rules.build._common import is_layer
from layerwright.checks.walk import held


@dataclasses.dataclass(frozen=True)
class Pair:
    """The same part of two layers.

    Attributes:
        path: How the subject reaches it; `self` for the subject.
        full: In the layer that was called.
        bare: In the other layer, or None where that has no such part.
        parent: The pair that holds it, None for the subject.
    """

    path: str
    full: Any
    bare: Any
    parent: Pair | None

    @property
    def lacking(self) -> int:
        """How many variables of its own the other one lacks."""
        there = 0 if self.bare is None else len(internals.own_variables(self.bare))
        return max(0, len(internals.own_variables(self.full)) - there)

    @property
    def unbuilt(self) -> bool:
        """Whether the other one was never built, or isn't there."""
        return self.bare is None or not self.bare.built


def pairs(full: Any, bare: Any) -> Iterator[Pair]:
    """A layer and all layers below it, each beside its counterpart."""
    seen: set[int] = set()
    waiting = [Pair("self", full, bare, None)]
    while waiting:
        pair = waiting.pop(0)
        if id(pair.full) in seen:
            continue
        seen.add(id(pair.full))
        yield pair
        waiting.extend(_below(pair))


def _below(pair: Pair) -> Iterator[Pair]:
    there = {} if pair.bare is None else {i.path: i.value for i in held(pair.bare) if is_layer(i.value)}
    named = set()
    for item in held(pair.full):
        if is_layer(item.value):
            named.add(id(item.value))
            yield Pair(f"{pair.path}.{item.path}", item.value, there.get(item.path), pair)
    mine = internals.own_layers(pair.full)
    others = [] if pair.bare is None else internals.own_layers(pair.bare)
    for place, child in enumerate(mine):
        if id(child) not in named:
            same = len(mine) == len(others) and type(others[place]) is type(child)
            yield Pair(f"{pair.path}.layers[{place}]", child, others[place] if same else None, pair)
