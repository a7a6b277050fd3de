"""A function while it is rewritten: its statements, what its names mean, and which names are free."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import keyword
from typing import Any

from layerwright.autodiff import fence, sources
from layerwright.autodiff.sources import Source
from layerwright.autodiff.syntax import Names, writes


@dataclasses.dataclass(eq=False)
class Program:
    """A function while passes rewrite it.

    Attributes:
        source: Where it comes from.
        arguments: The names of its arguments.
        body: Its statements.
        namespace: What names mean that aren't variables; passes add to it.
        names: Gives names that nothing uses.
        sources: The functions whose text is in it, this one and those that it calls.
    """

    source: Source
    arguments: list[str]
    body: list[ast.stmt]
    namespace: dict[str, Any]
    names: Names
    sources: list[Source]

    @property
    def local(self) -> set[str]:
        """The names of the variables."""
        return set(self.arguments) | writes(self.body)

    def meaning(self, node: ast.AST) -> Any:
        """The object that a name means which isn't a variable."""
        return sources.meaning(node, self.namespace, self.local)

    def bind(self, wanted: str, value: Any) -> str:
        """A name that means an object: the wanted one where it is free, or means just that already."""
        if self.namespace.get(wanted) is value:
            return wanted
        found = self.names.fresh(wanted)
        self.namespace[found] = value
        return found


def program(source: Source) -> Program:
    """A program that holds a function as its user wrote it, once the fence has let it pass."""
    fence.check(source)
    used = {n.id for n in ast.walk(source.tree) if isinstance(n, ast.Name)} | set(source.arguments)
    names = Names({*used, *source.namespace, *dir(builtins), *keyword.kwlist, source.name})
    body = list(source.tree.body)
    return Program(source, source.arguments, body, dict(source.namespace), names, [source])
