"""What is known of a layer's inputs before it is called: from its signature, its code, its children and its names."""

from __future__ import annotations

import ast
import dataclasses
import inspect
import re
from collections.abc import Iterator
from functools import cached_property
from typing import Any, Literal

import keras

from layerwright.checks import internals
from layerwright.checks.guess.arguments import annotation_text
from layerwright.checks.guess.names import FLAGS, IDS, NUMBERS, VOCABULARIES, rank_of, ranks_of_class
from layerwright.checks.guess.reading import LIST_CALLS, Path, Reader, Reading, last_name
from layerwright.checks.source import Function, constant, function_of
from layerwright.checks.walk import held

Role = Literal["tensor", "mask", "training", "number", "flag", "text"]


@dataclasses.dataclass(frozen=True)
class Parameter:
    """A parameter of `call`."""

    name: str
    role: Role
    required: bool
    keyword_only: bool = False


class View:
    """Everything that the inputs are guessed from.

    Args:
        layer: A fresh instance.
    """

    def __init__(self, layer: Any) -> None:
        self.layer, self.cls = layer, type(layer)

    @cached_property
    def wraps_cell(self) -> bool:
        """Whether the layer is a recurrent cell, to be run by `keras.layers.RNN`."""
        names = [p.name for p in self._signature[1:]]
        states = bool(names) and "state" in names[0] and self._signature[1].default is inspect.Parameter.empty
        return states and internals.is_cell(self.layer) and not isinstance(self.layer, keras.layers.RNN)

    @cached_property
    def _signature(self) -> list[inspect.Parameter]:
        try:
            parameters = list(inspect.signature(self.layer.call).parameters.values())
        except (TypeError, ValueError):
            return []
        return [p for p in parameters if p.kind is not p.VAR_KEYWORD]

    @cached_property
    def variadic(self) -> bool:
        """Whether `call` takes any number of positional inputs: `call(self, *inputs)`."""
        return any(p.kind is p.VAR_POSITIONAL for p in self._signature)

    @cached_property
    def parameters(self) -> list[Parameter]:
        """The parameters that may have to be given; the first tensor is the main one."""
        found = []
        for place, p in enumerate(q for q in self._signature if q.kind is not q.VAR_POSITIONAL):
            required = p.default is p.empty
            if required or p.default is None:
                role: Role = "tensor" if place == 0 else self._role(p)
                found.append(Parameter(p.name, role, required, p.kind is p.KEYWORD_ONLY))
        if not found and self.variadic:
            found.append(Parameter("inputs", "tensor", True))
        return found

    def _role(self, p: inspect.Parameter) -> Role:
        said = annotation_text(p.annotation)
        if p.name == "training":
            return "training"
        if p.name == "mask" or p.name.endswith("_mask"):
            return "mask"
        if re.fullmatch(r"bool( \| None)?", said) or FLAGS.fullmatch(p.name):
            return "flag"
        if re.fullmatch(r"(int|float)( \| None)?", said) or p.name in self.reading.numbers:
            return "number"
        if re.fullmatch(r"str( \| None)?", said):
            return "text"
        # Beside `q` (queries), `k` means keys.
        keys = p.name == "k" and any(q.name in ("q", "v") for q in self._signature)
        return "number" if NUMBERS.fullmatch(p.name) and said == "" and not keys else "tensor"

    @cached_property
    def main(self) -> str:
        """The name of the first input."""
        return self.parameters[0].name if self.parameters else "inputs"

    @cached_property
    def reading(self) -> Reading:
        """What the text of `call` and `build` says."""
        reading = Reading()
        function = function_of(self.cls.call)
        if function is not None and self._is_theirs(function):
            Reader(reading, function, self._embedded_by).read([p.name for p in self._signature])
        self._read_build(reading)
        self._read_annotation(reading)
        return reading

    def _is_theirs(self, function: Function) -> bool:
        # A method inherited from Keras checks for lists and masks of all kinds; its text would mislead.
        return self.cls.__module__.startswith("keras.") or "/keras/src/" not in function.path.replace("\\", "/")

    def _read_annotation(self, reading: Reading) -> None:
        first = self._signature[0] if self._signature else None
        said = annotation_text(first.annotation) if first is not None else ""
        path = (first.name,) if first is not None else ()
        if re.match(r"(typing\.)?(list|List|Sequence|tuple|Tuple)\[", said):
            reading.lists.setdefault(path, 2)
        elif re.match(r"(typing\.)?(dict|Dict|Mapping)\[", said):
            reading.dicts.setdefault(path, [])

    def _read_build(self, reading: Reading) -> None:
        function = function_of(self.cls.build)
        if function is None or not self._is_theirs(function) or len(function.parameters) != 2:
            return
        name, path = function.parameters[1], (self._signature[0].name if self._signature else "inputs",)
        for node in function.walk():
            if isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name) and node.value.id == name:
                place = constant(node.slice)
                if type(place) is int:
                    reading.at_least(path, place + 1 if place >= 0 else -place)
            elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Subscript):
                self._inner_shape(reading, node.value, name, path)
            elif isinstance(node, ast.Assign) and isinstance(node.value, ast.Name) and node.value.id == name:
                self._unpacked_shape(reading, node, path)

    def _inner_shape(self, reading: Reading, node: ast.Subscript, name: str, path: Path) -> None:
        place = constant(node.slice)
        if not isinstance(node.value, ast.Name) or node.value.id != name or not isinstance(place, int | str):
            return
        if isinstance(place, int):
            reading.min_ranks.pop(path, None)
        if path not in reading.maybe_lists and (isinstance(place, str) or place >= 0):
            reading.element(path, place)

    def _unpacked_shape(self, reading: Reading, node: ast.Assign, path: Path) -> None:
        target = node.targets[0]
        if not isinstance(target, ast.Tuple) or any(isinstance(t, ast.Starred) for t in target.elts):
            return
        shapes = all("shape" in ast.unparse(t) for t in target.elts)
        if shapes:
            reading.lists[path] = max(len(target.elts), reading.lists.get(path, 0))
        else:
            reading.ranks.setdefault(path, len(target.elts))

    def _embedded_by(self, function: ast.expr) -> Any:
        """The embedding that an expression such as `self.embedding` means, or None."""
        if isinstance(function, ast.Attribute) and isinstance(function.value, ast.Name) and function.value.id == "self":
            return _embedding_in(_attribute(self.layer, function.attr))
        if isinstance(function, ast.Subscript) and isinstance(function.value, ast.Attribute):
            several = _attribute(self.layer, function.value.attr)
            values = list(several.values()) if isinstance(several, dict) else several
            return _embedding_in(values[0]) if isinstance(values, list | tuple) and values else None
        return None

    @cached_property
    def below(self) -> int:
        """One more than the largest id that every embedding of the layer knows."""
        sizes = [item.value.input_dim for item in held(self.layer) if isinstance(item.value, keras.layers.Embedding)]
        own = vars(self.layer)
        sizes += [value for name, value in own.items() if type(value) is int and VOCABULARIES.fullmatch(name)]
        if isinstance(self.layer, keras.layers.Embedding):
            sizes.append(self.layer.input_dim)
        return max(1, min([s for s in sizes if type(s) is int] or [4]))

    def takes_ids(self, path: Path) -> bool:
        """Whether an input is one of whole numbers: used as such, or called so."""
        if path in self.reading.ids or (len(path) == 1 and isinstance(self.layer, keras.layers.Embedding)):
            return True
        return bool(IDS.fullmatch(self.name_of(path))) and path not in self.reading.ranks

    def below_of(self, path: Path) -> int:
        """One more than the largest id that an input may hold."""
        size = getattr(self.reading.ids.get(path), "input_dim", None)
        return size if isinstance(size, int) else self.below

    def name_of(self, path: Path) -> str:
        """What the code calls an input: its parameter, its key, or the name to which it is unpacked."""
        said = path[-1] if isinstance(path[-1], str) else self.reading.names.get(path, "")
        return said.lower()

    def named_rank(self, path: Path) -> int | None:
        """The rank that the name of an input says, as `image` does."""
        return rank_of(self.name_of(path))

    @cached_property
    def ranks(self) -> list[int]:
        """Ranks of the main input, the likeliest first."""
        hinted = list(self._hinted_ranks())
        least = self.reading.min_ranks.get((self.main,), 0)
        order = [*hinted, *(r for r in (2, 3, 4, 5) if r >= least), *(r for r in (2, 3, 4, 5) if r < least)]
        return list(dict.fromkeys(order))

    def _hinted_ranks(self) -> Iterator[int]:
        yield from self._spec_ranks()
        exact = self.reading.ranks.get((self.main,))
        if exact is not None and 1 <= exact <= 5:
            yield exact
        if self.wraps_cell:
            yield 3
        named = self.named_rank((self.main,))
        yield from () if named is None else (named,)
        if self.takes_ids((self.main,)) or any(p[0] == self.main for p in self.reading.ids):
            yield 2
        yield from ranks_of_class(self.cls.__name__)
        if self._handles_masks() and self.reading.min_ranks.get((self.main,), 0) <= 3:
            yield 3

    def _spec_ranks(self) -> Iterator[int]:
        spec = self.layer.input_spec
        first = spec[0] if isinstance(spec, list | tuple) and spec else spec
        for rank in (getattr(first, "ndim", None), getattr(first, "min_ndim", None)):
            if type(rank) is int and 1 < rank <= 5:
                yield rank

    @cached_property
    def mixes_literals(self) -> bool:
        """Whether `call` concatenates its input with numbers, which fits no input that has a batch."""
        function = function_of(self.cls.call)
        for call in function.calls() if function is not None and self._is_theirs(function) else ():
            parts = call.args[0].elts if call.args and isinstance(call.args[0], ast.List | ast.Tuple) else []
            if last_name(call.func) in LIST_CALLS and any(isinstance(p, ast.List | ast.Tuple) for p in parts):
                return True
        return False

    def _handles_masks(self) -> bool:
        takes = any(p.name == "mask" for p in self._signature)
        own_mask = not any(self.cls.compute_mask is c.compute_mask for c in (keras.layers.Layer, keras.Model))
        return takes or own_mask


def _attribute(layer: Any, name: str) -> Any:
    # On torch, layers are not in the instance's dictionary; a property may raise anything.
    try:
        return getattr(layer, name, None)
    except Exception:
        return None


def _embedding_in(layer: Any, depth: int = 3) -> Any:
    """The embedding to which a layer hands its first input as it is, or None."""
    if isinstance(layer, keras.layers.Embedding):
        return layer
    if not isinstance(layer, keras.layers.Layer) or depth == 0:
        return None
    if isinstance(layer, keras.Sequential):
        return _embedding_in(layer.layers[0], depth - 1) if layer.layers else None
    if type(layer).__module__.startswith("keras."):
        return None
    view = View(layer)
    return view.reading.ids.get((view.main,))
