"""A class that is read and never made: what it derives from, its methods, its attributes."""

from __future__ import annotations

import ast
import re
import sys
from functools import cached_property
from typing import Any

from layerwright.checks.scan import OTHER_BASES, OTHER_MODULES
from layerwright.checks.static import names
from layerwright.checks.static.code import Code
from layerwright.checks.static.files import LOCAL, SourceFile
from layerwright.checks.static.stores import Store, stores

UNKNOWN_BASE = "?"
LIKELY = re.compile(r"\w*(Layer|Model|Cell|Wrapper)")
# Bases that bring nothing a layer has.
HARMLESS = re.compile(r"builtins\.object|abc\.ABC|typing\.(Generic|Protocol)|typing_extensions\.\w+")
NAMED_BASE = re.compile(r"_|Base|Abstract|\w*(Base|Mixin)$")
HOST_SIDE = re.compile("Preprocess|Tokenizer|DataLayer|Converter|Packer")
ABSTRACT = frozenset({"abstractmethod", "abstractproperty"})
NO_LAYERS = OTHER_MODULES | {"builtins", "tensorflow", "jax", "flax", "keras", *sys.builtin_module_names}


class ClassView:
    """One class of a file.

    Args:
        node: Its statement.
        scope: The function in which it is defined.
        file: Its file.
        others: Every class of the file, by its statement.
    """

    def __init__(
        self, node: ast.ClassDef, scope: Code | None, file: SourceFile, others: dict[ast.ClassDef, ClassView]
    ) -> None:
        self.node, self.scope, self.file, self._others = node, scope, file, others
        self.name = node.name
        self.memo: dict[tuple[object, ...], Any] = {}

    @cached_property
    def bases(self) -> list[str]:
        """The dotted names of the bases; `?` for one that can't be told."""
        given = [base.value if isinstance(base, ast.Subscript) else base for base in self.node.bases]
        return [self.file.dotted(base, self.scope) or UNKNOWN_BASE for base in given]

    @cached_property
    def lineage(self) -> list[ClassView]:
        """The class and those of its ancestors that the file defines, nearest first."""
        found: dict[ast.ClassDef, ClassView] = {}
        waiting = [self]
        while waiting:
            view = waiting.pop(0)
            if view.node not in found:
                found[view.node] = view
                waiting = [parent for base in view.bases if (parent := self.local(base))] + waiting
        return list(found.values())

    @cached_property
    def externals(self) -> list[str]:
        """The dotted names of the bases that the file doesn't define, over the whole lineage."""
        given = [base for view in self.lineage for base in view.bases if not base.startswith(LOCAL)]
        return [base for base in dict.fromkeys(given) if not HARMLESS.fullmatch(base)]

    @cached_property
    def is_layer(self) -> bool:
        """Whether it is a layer or a model of Keras 3: surely, or by all that the file shows."""
        if any(names.is_layer(base) for base in self.externals):
            return True
        return any(map(_may_be_layer, self.externals)) and self.method("call") is not None and self._acts_like_one()

    def _acts_like_one(self) -> bool:
        signs = {"self.add_weight"}
        if any(LIKELY.fullmatch(names.last(base)) for base in self.externals):
            signs |= {"super.__init__", "super.get_config", "super.build"}
        return any(code.dotted(call.func) in signs for code in self.methods for call in code.calls)

    @property
    def is_model(self) -> bool:
        """Whether it derives from `keras.Model`."""
        return any(names.is_model(base) for base in self.externals)

    @property
    def complete(self) -> bool:
        """Whether all that it inherits is known: its file defines it, or Keras does."""
        return bool(self.externals) and all(map(names.is_kerass, self.externals))

    @property
    def plain(self) -> bool:
        """Whether all that it inherits comes from its file and from `Layer` or `Model` themselves."""
        return bool(self.externals) and all(map(names.is_plain, self.externals))

    @property
    def is_host_side(self) -> bool:
        """Whether it prepares data outside of the model, by its base: there values are at hand."""
        return any(HOST_SIDE.search(names.last(base)) for base in self.externals)

    @property
    def is_abstract(self) -> bool:
        """Whether it is meant to be derived from: by its name, or by a method that isn't written."""
        abstract = any(names.last(d) in ABSTRACT for code in self.methods for d in code.decorators)
        return abstract or "abc.ABC" in self.bases or NAMED_BASE.match(self.name) is not None

    @property
    def own(self) -> dict[str, Code]:
        """The methods that the class statement itself defines."""
        return self.file.methods.get(self.node, {})

    @cached_property
    def methods(self) -> list[Code]:
        """All methods of the lineage, those that others replace included."""
        return [code for view in self.lineage for code in view.own.values()]

    def method(self, name: str, after: ast.ClassDef | None = None) -> Code | None:
        """A method as the file defines it, its own or inherited.

        Args:
            name: Its name.
            after: Look only behind this class, as `super()` does there.
        """
        lineage = self.lineage
        if after is not None:
            nodes = [view.node for view in lineage]
            lineage = lineage[nodes.index(after) + 1 :] if after in nodes else []
        return next((view.own[name] for view in lineage if name in view.own), None)

    def chain(self, name: str) -> list[Code]:
        """A method and, where it calls it by `super()`, what stands behind it in the file."""
        found: list[Code] = []
        code = self.method(name)
        while code is not None and code not in found:
            found.append(code)
            goes_on = any(f"super.{name}" == inner.dotted(c.func) for inner in code.everything() for c in inner.calls)
            code = self.method(name, code.owner) if goes_on else None
        return found

    @cached_property
    def called(self) -> frozenset[str | None]:
        """The dotted names of all that the class calls, anywhere."""
        codes = (code for method in self.methods for code in method.everything())
        return frozenset(code.dotted(call.func) for code in codes for call in code.calls)

    @cached_property
    def stores(self) -> list[Store]:
        """Every `self.name = ...` in the methods of the lineage, those in nested functions included."""
        return [store for method in self.methods for code in method.everything() for store in stores(code)]

    @cached_property
    def attributes(self) -> dict[str, list[Store]]:
        """What is stored, by attribute."""
        found: dict[str, list[Store]] = {}
        for store in self.stores:
            found.setdefault(store.name, []).append(store)
        return found

    def makers(self, name: str) -> frozenset[str]:
        """What makes an attribute: the dotted names that its assignments call; empty where one isn't such a call."""
        made = {maker for store in self.attributes.get(name, ()) for maker in store.makers}
        return frozenset(maker for maker in made if maker is not None) if None not in made else frozenset()

    @cached_property
    def children(self) -> dict[str, frozenset[str]]:
        """The attributes that hold a sublayer made here, with the dotted names of its class."""
        found = {name: self.makers(name) for name in self.attributes}
        return {name: made for name, made in found.items() if made and all(map(self.layer_class, made))}

    @cached_property
    def weights(self) -> frozenset[str]:
        """The attributes that hold a weight."""
        found = {name: self.makers(name) for name in self.attributes}
        return frozenset(name for name, made in found.items() if made and all(map(_makes_weight, made)))

    def layer_class(self, dotted: str | None) -> bool:
        """Whether a name is a layer's class, of Keras or of this file."""
        view = self.local(dotted)
        return view.is_layer if view is not None else names.is_layer(dotted)

    def local(self, dotted: str | None) -> ClassView | None:
        """The class of this file that a dotted name means."""
        name = (dotted or "").removeprefix(LOCAL)
        return self._others.get(self.file.classes[name]) if dotted != name and name in self.file.classes else None


def views(file: SourceFile) -> list[ClassView]:
    """Every class that a file defines, in their order."""
    found: dict[ast.ClassDef, ClassView] = {}
    for node, scope in file.class_nodes:
        found[node] = ClassView(node, scope, file, found)
    return list(found.values())


def _may_be_layer(base: str) -> bool:
    """Whether a base that isn't known may be a layer: it isn't Python's, nor of a kind that never is."""
    return names.root(base) not in NO_LAYERS and not OTHER_BASES.fullmatch(names.last(base))


def _makes_weight(dotted: str) -> bool:
    return dotted == "self.add_weight" or names.is_keras(dotted, "Variable")
