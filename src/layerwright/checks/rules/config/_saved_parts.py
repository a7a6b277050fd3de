"""What of a subject is in its serialized form: components, keys, objects, and the lines that write them."""

from __future__ import annotations

import ast
import json
from collections.abc import Iterator
from typing import Any

from layerwright.checks.attempt import Failure
from layerwright.checks.lab import Component, Lab
from layerwright.checks.source import Function, Source


def parts(lab: Lab) -> list[Component]:
    """The subject, and the user's layers that its config holds; all of them where there is no config to tell."""
    text = lab.serialized.value
    return [c for c in lab.components if c.path == "self" or text is None or f'"class_name": "{c.name}"' in text]


def serialized(lab: Lab) -> Any:
    """The subject's serialized form as plain data, as a file holds it."""
    return json.loads(lab.serialized.get())


def entries(data: Any, path: str = "") -> Iterator[tuple[str, str, Any]]:
    """Every entry of plain data: its path, the key under which its outermost container stands, itself."""
    pairs = data.items() if isinstance(data, dict) else enumerate(data) if isinstance(data, list) else ()
    for key, value in pairs:
        inner = f"{path}[{key}]" if isinstance(key, int) else f"{path}.{key}" if path else key
        yield inner, inner.split(".")[0].split("[")[0], value
        yield from entries(value, inner)


def is_object(data: Any) -> bool:
    """Whether plain data is a serialized object of Keras (not a bytes or array value)."""
    return (
        isinstance(data, dict)
        and {"class_name", "config"} <= set(data)
        and not str(data["class_name"]).startswith("__")
    )


def objects(data: Any) -> Iterator[dict[str, Any]]:
    """Every serialized object in plain data."""
    if is_object(data):
        yield data
    for _, _, value in entries(data):
        if is_object(value):
            yield value


def where(source: Source, key: str | None = None) -> tuple[Function, ast.AST] | Function | Source:
    """Where `get_config` writes a key; `get_config` itself, or the class, where that isn't found."""
    written = source.method("get_config")
    if written is None:
        return source.method("__init__") or source
    for function in source.reachable("get_config"):
        for node in function.walk():
            if isinstance(node, ast.Constant) and node.value == key:
                return function, node
            if isinstance(node, ast.keyword) and node.arg == key:
                return function, node.value
    return written


def last_line(failure: Failure) -> str:
    """The cause in the message of a failed load: what stands behind Keras' last "Exception encountered"."""
    text = failure.text
    for mark in ("Exception encountered:", "Error encountered during deserialization:"):
        text = text.rsplit(mark, 1)[-1]
    lines = [line.strip() for line in text.splitlines() if line.strip()] or [failure.kind]
    line = next((line for line in lines if not line.endswith(":")), lines[0])
    return line if len(line) <= 160 else line[:157] + "..."
