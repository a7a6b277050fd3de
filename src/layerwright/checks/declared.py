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
        if isinstance(node, ast.Assign) and isinstance(node.targets[0], ast.Name):
            with contextlib.suppress(Exception):  # not a constant: then no declaration needs it
                constants[node.targets[0].id] = _value(node.value, constants)
        call = next(filter(_is_rule, node.decorator_list), None) if isinstance(node, ast.FunctionDef) else None
        if isinstance(node, ast.FunctionDef) and isinstance(call, ast.Call):
            yield _rule(file, node, call, constants)


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
        static=said.get("static", False),
        title=title,
        sections=sections,
        check=functools.partial(_check, f"{ROOT}.{file.parent.name}.{file.stem}", node.name),
    )


def _check(module: str, function: str, lab: Lab) -> Iterable[Finding]:
    made: Iterable[Finding] = getattr(importlib.import_module(module), function)(lab)
    return made
