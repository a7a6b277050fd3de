"""What a class can be constructed with: values for the arguments that have no default, in several plans."""

from __future__ import annotations

import ast
import builtins
import dataclasses
import enum
import inspect
import re
import typing
from collections.abc import Mapping
from typing import Any

import keras
import numpy as np

from layerwright.checks.guess.values import (
    IDS,
    LAYER,
    LAYERS,
    MODEL_WIDTH,
    UNKNOWN,
    WIDTH,
    by_annotation,
    by_name,
    kind,
)
from layerwright.checks.source import UNKNOWN as UNRESOLVED
from layerwright.checks.source import Function, function_of

MAX_PLANS = 5
VAGUE = (("2",), WIDTH, MODEL_WIDTH)
BASE = frozenset({"self", "name", "dtype", "trainable", "activity_regularizer", "autocast"})


def positional_only(cls: Any) -> list[str]:
    """The arguments of a constructor that can't be given by keyword."""
    try:
        parameters = inspect.signature(cls).parameters.values()
    except (TypeError, ValueError):
        return []
    return [p.name for p in parameters if p.kind is p.POSITIONAL_ONLY]


@dataclasses.dataclass(frozen=True)
class Plan:
    """One way to construct a class.

    Attributes:
        cls: The class.
        texts: Python expressions of the arguments, by name.
    """

    cls: type
    texts: Mapping[str, str]

    def make(self) -> Any:
        """A fresh instance; every argument is evaluated anew, so that no two instances share a layer."""
        names: dict[str, Any] = {"keras": keras, "np": np, **_enums(self.cls)}
        for name, text in self.texts.items():
            names[name] = eval(text, names)
        first = [name for name in positional_only(self.cls) if name in self.texts]
        return self.cls(*(names[n] for n in first), **{n: names[n] for n in self.texts if n not in first})

    @property
    def text(self) -> str:
        """The call as it would be written."""
        return f"{self.cls.__name__}({self.arguments})"

    @property
    def arguments(self) -> str:
        """The arguments as they would be written."""
        first = positional_only(self.cls)
        return ", ".join(text if name in first else f"{name}={text}" for name, text in self.texts.items())

    def integers(self) -> list[int]:
        """The whole numbers among the arguments and defaults: sizes that the inputs may have to match."""
        defaults = [p.default for p in _parameters(self.cls) if p.name not in self.texts]
        written = [int(n) for text in self.texts.values() for n in re.findall(r"(?<![\w.])\d+(?![\w.])", text)]
        return list(dict.fromkeys([*written, *(d for d in defaults if type(d) is int and 1 < d <= 4096)]))

    @property
    def side(self) -> int | None:
        """The size of images, where an argument or its default says it."""
        said = {p.name: p.default for p in _parameters(self.cls)} | {n: literal(t) for n, t in self.texts.items()}
        names = r"(image|img|input)_(size|resolution|dim)|image_(h|height)"
        sizes = (value for name, value in said.items() if re.fullmatch(names, name))
        return next((v for v in sizes if type(v) is int and 4 <= v <= 512), None)

    def with_names(self, names: list[str]) -> Plan:
        """The same plan with further arguments."""
        return Plan(self.cls, {**self.texts, **{n: values_for(self.cls, n, None)[0] for n in names}})


def literal(text: str) -> Any:
    """The value of a literal, else None."""
    try:
        return ast.literal_eval(text)
    except (ValueError, SyntaxError):
        return None


def plans(cls: type) -> list[Plan]:
    """Ways to construct a class, the likeliest first; those that fill arguments with the default None come last."""
    parameters = _parameters(cls)
    required = [p for p in parameters if p.default is p.empty]
    empty = [p for p in parameters if p.default is None and p.name not in BASE]
    if {"inputs", "outputs"} <= {p.name for p in parameters} and issubclass(cls, keras.Model):
        functional = {"inputs": "keras.Input((8,))", "outputs": "keras.layers.Dense(3)(inputs)"}
        rest = [p for p in required if p.name not in functional]
        return [Plan(cls, {**functional, **plan.texts}) for plan in _enumerate(cls, rest)]
    found = _enumerate(cls, required)
    useful = [p for p in empty if (by_name(p.name) or by_usage(cls, p.name)) and not _ornament(p.name)]
    for filled in [useful[:1], useful] if useful else []:
        more = _enumerate(cls, filled)[:2]
        found += [Plan(cls, {**base.texts, **extra.texts}) for base, extra in zip(found, more, strict=False)]
    return list({tuple(plan.texts.items()): plan for plan in found}.values())


def _ornament(name: str) -> bool:
    return bool(re.search(r"regularizer|constraint|seed|initializer|name|dtype|format", name))


def _parameters(cls: Any) -> list[inspect.Parameter]:
    try:
        parameters = list(inspect.signature(cls.__init__).parameters.values())[1:]
    except (TypeError, ValueError):
        return []
    return [p for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]


def _enumerate(cls: type, parameters: list[inspect.Parameter]) -> list[Plan]:
    values = {p.name: values_for(cls, p.name, p.annotation) for p in parameters}
    count = min(MAX_PLANS, max((len(v) for v in values.values()), default=1))
    return [Plan(cls, {n: v[min(k, len(v) - 1)] for n, v in values.items()}) for k in range(count)]


def values_for(cls: type, name: str, annotation: Any) -> tuple[str, ...]:
    """Values for one argument, the likeliest first: by its name, by what the code does with it, by its annotation."""
    exact = _of_type(cls, annotation)
    if exact:
        return exact
    said = by_annotation(annotation_text(annotation)) if annotation is not None else None
    known = by_usage(cls, name) or by_name(name)
    if known and said:
        kinds = {kind(text) for text in said}
        return (*(t for t in known if kind(t) in kinds), *said)
    return known or said or UNKNOWN


def annotation_text(annotation: Any) -> str:
    """An annotation as text, whether it was written as a string or not."""
    if annotation is inspect.Parameter.empty:
        return ""
    return annotation.__name__ if isinstance(annotation, type) and not typing.get_args(annotation) else str(annotation)


def _of_type(cls: type, annotation: Any) -> tuple[str, ...]:
    """The values of an annotation that lists them: a Literal, or an enumeration."""
    if isinstance(annotation, str):
        literal = re.search(r"Literal\[(.*?)\]", annotation)
        return tuple(part.strip() for part in literal[1].split(",")) if literal else ()
    if typing.get_origin(annotation) is typing.Literal:
        return tuple(repr(value) for value in typing.get_args(annotation))
    if isinstance(annotation, type) and issubclass(annotation, enum.Enum) and annotation.__name__ in _enums(cls):
        return tuple(f"{annotation.__name__}.{member.name}" for member in annotation)
    return ()


def _enums(cls: Any) -> dict[str, Any]:
    scope = getattr(cls.__init__, "__globals__", {})
    return {n: v for n, v in scope.items() if isinstance(v, type) and issubclass(v, enum.Enum)}


def by_usage(cls: Any, name: str) -> tuple[str, ...] | None:
    """Values for an argument by what the class does with it; None where its code doesn't tell."""
    function = function_of(cls.__init__)
    if function is None:
        return None
    if _is_called(cls, name) and not re.search(r"act|init|fn|func", name):
        return LAYER if by_name(name) in (None, LAYER) else None
    by_itself = by_name(name)
    for call in function.calls():
        values = _as_argument(function, call, name)
        # A name such as `num_movies` is a count of anything; what is embedded is a vocabulary.
        if values and (by_itself is None or (values is IDS and by_itself in VAGUE)):
            return values
    if by_itself is not None:
        return None
    for node in function.walk():
        if isinstance(node, ast.For | ast.comprehension) and _is_name(node.iter, name):
            return LAYERS if _called_within(function, node.target) else ("[4, 3]", "[8, 8]")
    return None


def _as_argument(function: Function, call: ast.Call, name: str) -> tuple[str, ...] | None:
    """What an argument means, by the parameter of another callable to which it is handed."""
    target = function.resolve(call.func)
    places = [str(i) for i, a in enumerate(call.args) if _is_name(a, name)]
    places += [k.arg for k in call.keywords if k.arg and _is_name(k.value, name)]
    if not places or target is UNRESOLVED:
        return None
    if target is range or target is builtins.int:
        return ("2",) if target is range else ("3", "8")
    if target in (builtins.list, builtins.tuple, builtins.len, builtins.sum):
        return ("[4, 3]", "[8, 8]")
    try:
        inner = [p.name for p in inspect.signature(getattr(target, "__init__", target)).parameters.values()]
    except (TypeError, ValueError):
        return None
    if target is keras.layers.Embedding and places[0] in ("0", "input_dim"):
        return IDS
    offset = 1 if isinstance(target, type) else 0
    index = int(places[0]) + offset if places[0].isdigit() else None
    meant = places[0] if index is None else inner[index] if index < len(inner) else ""
    return by_name(meant) if meant != name else None


def _is_called(cls: Any, name: str) -> bool:
    """Whether a method calls `self.name(...)`."""
    for method in ("call", "build"):
        function = function_of(getattr(cls, method, None))
        calls = function.calls() if function is not None and "keras/src" not in function.path else ()
        attributes = (c.func for c in calls if isinstance(c.func, ast.Attribute))
        if any(a.attr == name and _is_name(a.value, "self") for a in attributes):
            return True
    return False


def _called_within(function: Function, target: ast.expr) -> bool:
    return any(_is_name(call.func, getattr(target, "id", "")) for call in function.calls())


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name
