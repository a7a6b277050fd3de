"""The rules as their files declare them, read without importing them: a rule's file imports Keras.

The command line lists, explains and selects rules in an environment where Keras may be slow, broken or missing.
"""

from __future__ import annotations

import ast
import contextlib
import functools
import importlib
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Any

from layerwright.checks.report import Finding
from layerwright.checks.rule import Rule, read_page
from layerwright.errors import RuleError

if TYPE_CHECKING:
    from layerwright.checks.lab import Lab

ROOT = "layerwright.checks.rules"


@functools.cache
def load() -> dict[str, Rule]:
    """Every rule by name, ordered by code; its check imports its file when it is first called."""
    from layerwright.checks import rules

    files = sorted(file for folder in rules.__path__ for file in Path(folder).glob("*/*.py"))
    found = [rule for file in files for rule in _declared(file)]
    return {rule.name: rule for rule in sorted(found, key=lambda rule: rule.code)}


def _declared(file: Path) -> Iterator[Rule]:
    constants: dict[str, Any] = {}
    for node in ast.parse(file.read_bytes(), str(file)).body:
        constants.update(_bound(node, constants))
        call = next(filter(_is_rule, node.decorator_list), None) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and isinstance(call, ast.Call):
            yield _rule(file, node, call, constants)


@functools.cache
def _constants(module: str) -> dict[str, Any]:
    """The constants of a module that several rules share; it imports Keras, so it is read too."""
    from layerwright.checks import rules

    constants: dict[str, Any] = {}
    parts = module.removeprefix(f"{ROOT}.").split(".")
    for path in (Path(folder, *parts).with_suffix(".py") for folder in rules.__path__):
        for node in ast.parse(path.read_bytes(), str(path)).body if path.is_file() else ():
            constants.update(_bound(node, constants))
    return constants


def _bound(node: ast.stmt, constants: Mapping[str, Any]) -> dict[str, Any]:
    """The constants that a statement brings: one that it assigns, or those that it imports from a shared module."""
    if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
        with contextlib.suppress(Exception):  # not a constant: then no declaration needs it
            return {node.targets[0].id: _value(node.value, constants)}
    if isinstance(node, ast.ImportFrom) and (node.module or "").startswith(f"{ROOT}."):
        shared = _constants(str(node.module))
        return {alias.asname or alias.name: shared[alias.name] for alias in node.names if alias.name in shared}
    return {}


def _value(node: ast.expr, constants: Mapping[str, Any]) -> Any:
    """The value of an expression of literals and constants; the file is one of ours."""
    return eval(compile(ast.Expression(node), "<declaration>", "eval"), {"__builtins__": {}}, dict(constants))


def _is_rule(decorator: ast.expr) -> bool:
    called = decorator.func if isinstance(decorator, ast.Call) else decorator
    return isinstance(called, ast.Name) and called.id == "rule"


def _rule(file: Path, node: ast.FunctionDef, call: ast.Call, constants: Mapping[str, Any]) -> Rule:
    name = node.name.replace("_", "-")
    try:
        code, severity = (_value(argument, constants) for argument in call.args)
        said: dict[str, Any] = {str(k.arg): _value(k.value, constants) for k in call.keywords}
    except Exception:
        raise RuleError(
            f"The declaration of rule `{name}` can't be read without running it.",
            expected='literals and constants of the file: @rule("LW101", "error", hides=("reload-differs",))',
            got=ast.unparse(call),
            fix="write every argument of `@rule` as a literal, or as a constant of the file that is one.",
            where=f"{file.name}:{call.lineno}",
        ) from None
    title, sections = read_page(name, ast.get_docstring(node) or "")
    return Rule(
        name=name,
        code=code,
        family=file.parent.name,
        severity=severity,
        hides=tuple(said.get("hides", ())),
        advice=said.get("advice", False),
        backends=tuple(said.get("backends", ())),
        title=title,
        sections=sections,
        check=functools.partial(_check, f"{ROOT}.{file.parent.name}.{file.stem}", node.name),
    )


def _check(module: str, function: str, lab: Lab) -> Iterable[Finding]:
    made: Iterable[Finding] = getattr(importlib.import_module(module), function)(lab)
    return made
