"""A derived function: readable, callable, and there for debuggers and for another derivation."""

from __future__ import annotations

import dataclasses
import itertools
import linecache
from collections.abc import Callable
from typing import Any

_count = itertools.count(1)


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class Derived:
    """A function that was derived from another.

    Attributes:
        name: Its name.
        source: Its text.
        function: The Python function; Numba compiles it, and debuggers step through it.
        arguments: The names of its arguments.
        results: What it gives: the names of the arguments that it writes, or of the numbers that it returns.
    """

    name: str
    source: str
    function: Callable[..., Any]
    arguments: tuple[str, ...]
    results: tuple[str, ...]

    def __repr__(self) -> str:
        return f"<derived {self.name}({', '.join(self.arguments)})>"

    def __call__(self, *args: Any) -> Any:
        """Run it as plain Python."""
        return self.function(*args)


def generated(name: str, source: str, namespace: dict[str, Any], arguments: list[str], results: list[str]) -> Derived:
    """Make a function of its text; the text stays readable for `inspect` and for debuggers."""
    file = f"<derived {name} {next(_count)}>"
    linecache.cache[file] = (len(source), None, source.splitlines(keepends=True), file)
    around = {**namespace, "__name__": "layerwright.derived"}
    exec(compile(source, file, "exec", dont_inherit=True), around)
    return Derived(name, source, around[name], tuple(arguments), tuple(results))
