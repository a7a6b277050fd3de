"""What a loaded file, module or saved model holds to check."""

from __future__ import annotations

import dataclasses
import importlib
import inspect
import pkgutil
from collections.abc import Callable, Iterator
from pathlib import Path
from types import ModuleType
from typing import Any

import keras

from layerwright.checks import guess
from layerwright.checks.attempt import attempt, foreign
from layerwright.checks.examples import Example, examples_of
from layerwright.checks.examples import subject_of as subject_of_example
from layerwright.checks.loading.modules import Loaded
from layerwright.checks.report import Problem
from layerwright.checks.scan import Scan, read_tree
from layerwright.checks.source import function_of
from layerwright.checks.subject import Subject
from layerwright.errors import TargetError, nearest


@dataclasses.dataclass(frozen=True)
class Found:
    """Something to check.

    Attributes:
        name: How reports call it.
        what: A class, an `Example`, or a callable that makes a layer of a saved model; None where there is a problem.
        path, line: Where it is defined.
        skipped: Why it isn't checked, for an abstract base.
        problem: Why it can't be checked, where its definition raised.
    """

    name: str
    what: type | Example | Callable[[], Any] | None = None
    path: str | None = None
    line: int | None = None
    skipped: str | None = None
    problem: Problem | None = None


def subject_of(found: Found) -> Subject:
    """What was found as a subject, guessing what isn't said.

    Raises:
        CannotGuess: Where no way to build or feed it is found.
        SubjectError: Where an example returns something else than a layer.
    """
    if isinstance(found.what, Example):
        return subject_of_example(found.what)
    if isinstance(found.what, type):
        return guess.build(found.what)
    if found.what is None:
        raise guess.CannotGuess(found.problem or Problem("not-built", found.skipped or f"`{found.name}` isn't there."))
    args, kwargs = guess.inputs_for(found.what)
    return Subject(found.name, found.what, args, kwargs)


def subjects_in(loaded: Loaded, only: tuple[str, ...] = ()) -> list[Found]:
    """What a file or module holds: its public Layer and Model subclasses, and its examples.

    A file's are those that it defines, in their order; a package's are those of its public names, each class once. A
    class that has examples is checked through these. Abstract bases say why they are skipped.

    Raises:
        TargetError: Where a name of `only` isn't there.
    """
    found = list(
        _of_file(loaded) if loaded.path and not hasattr(loaded.module, "__path__") else _of_package(loaded.module)
    )
    if not only:
        return found
    chosen = [item for item in found if item.name in only or item.name.split(" ")[0] in only]
    known = {item.name.split(" ")[0] for item in chosen}
    for name in only:
        if name not in known:
            chosen.extend(_named(loaded, name, found))
    return chosen


def _named(loaded: Loaded, name: str, found: list[Found]) -> Iterator[Found]:
    """A name that isn't among what is checked by itself: a private class, an imported one."""
    value = getattr(loaded.module, name, None)
    if _is_layer(value) or examples_of(value):
        yield from _expand(name, value, loaded.module)
        return
    names = [item.name for item in found]
    what = "isn't a layer or model" if hasattr(loaded.module, name) else "isn't there"
    reason = loaded.missing.get(name)
    raise TargetError(
        f"`{name}` of `{Path(loaded.path).name if loaded.path else loaded.module.__name__}` {what}.",
        expected=", ".join(f"`{n}`" for n in names[:20]) or "a class that derives from Layer or Model",
        got=reason or f"`{name}`",
        fix=" or ".join(f"`{n}`" for n in nearest(name, names)) or "name a class that is defined there.",
    )


def _of_file(loaded: Loaded) -> Iterator[Found]:
    module = loaded.module
    own = {n: v for n, v in vars(module).items() if getattr(v, "__module__", None) == module.__name__}
    items = [item for n, v in own.items() if _is_public(n, v) for item in _expand(n, v, module)]
    items += [Found(n, None, p.path, p.line, problem=p) for n, p in loaded.broken.items() if _may_be_layer(loaded, n)]
    if items:
        yield from sorted(items, key=lambda item: item.line or 0)
    elif loaded.path and not any(isinstance(v, type) for v in own.values()):
        # A module that only gathers names of others.
        yield from _of_package(module)


def _of_package(module: ModuleType) -> Iterator[Found]:
    package = module.__name__.split(".")[0]
    names = getattr(module, "__all__", None) or sorted(n for n in vars(module) if not n.startswith("_"))
    seen: set[int] = set()
    for name in names:
        value = getattr(module, name, None)
        theirs = str(getattr(value, "__module__", "")).split(".")[0] == package
        if theirs and id(value) not in seen and _is_public(name, value):
            seen.add(id(value))
            # An alias comes later than the class's own name where it is sorted so: report the class's own.
            own_name = getattr(value, "__name__", name)
            yield from _expand(own_name if getattr(module, own_name, None) is value else name, value, module)
    if not seen:
        yield from _of_submodules(module)


def _of_submodules(module: ModuleType) -> Iterator[Found]:
    for info in pkgutil.walk_packages(getattr(module, "__path__", []), module.__name__ + ".", onerror=lambda _: None):
        if info.name.rsplit(".", 1)[-1].startswith("_"):
            continue
        done = attempt(lambda name=info.name: importlib.import_module(name), lambda file: not foreign(file))  # type: ignore[misc]
        if done.failure is not None:
            at = done.failure.at
            problem = Problem("import-failed", f"`{info.name}` can't be imported: {done.failure.summary}.")
            yield Found(info.name, None, at.path if at else None, at.line if at else None, problem=problem)
        elif not info.ispkg:
            inner = done.get()
            yield from _of_file(Loaded(inner, (), getattr(inner, "__file__", None)))


def _is_public(name: str, value: Any) -> bool:
    return bool(examples_of(value)) or (_is_layer(value) and not name.startswith("_"))


def _is_layer(value: Any) -> bool:
    return isinstance(value, type) and issubclass(value, keras.layers.Layer)


def _expand(name: str, value: Any, module: ModuleType) -> Iterator[Found]:
    path, line = place_of(value)
    told = examples_of(value)
    if told:
        yield from (Found(e.name, e, path, line) for e in told)
    else:
        yield Found(name, value, path, line, skipped=abstract(value, module))


def place_of(value: Any) -> tuple[str | None, int | None]:
    """The file and the line of a class or function."""
    if isinstance(value, type):
        from layerwright.checks.source import Source

        source = Source.__new__(Source)
        source.layer, source.cls, source.home = None, value, lambda _path: True
        return source.path, source.line
    function = function_of(value)
    return (function.path, function.line) if function else (None, None)


def abstract(cls: type, module: ModuleType | None = None) -> str | None:
    """Why a class is a base for others rather than a layer by itself, or None."""
    if inspect.isabstract(cls):
        methods = ", ".join(f"`{name}`" for name in sorted(getattr(cls, "__abstractmethods__", ())))
        return f"`{cls.__name__}` is an abstract base: {methods} must be defined by a subclass."
    if _defines_call(cls) and not _only_raises(cls):
        return None
    bases = (
        {base for value in vars(module).values() if isinstance(value, type) for base in value.__mro__[1:]}
        if module
        else set()
    )
    named = any(word in cls.__name__ for word in ("Base", "Abstract", "Mixin"))
    if cls in bases or named:
        how = "its `call` only raises NotImplementedError" if _defines_call(cls) else "it defines no `call`"
        return f"`{cls.__name__}` is a base for others: {how}."
    return None


def _defines_call(cls: Any) -> bool:
    return cls.call not in (keras.layers.Layer.call, keras.Model.call)


def _only_raises(cls: Any) -> bool:
    """Whether `call` does nothing but `raise NotImplementedError`."""
    import ast

    function = function_of(cls.call)
    body = function.node.body if function and isinstance(function.node.body, list) else []
    said = [n for n in body if not (isinstance(n, ast.Expr) and isinstance(n.value, ast.Constant))]
    return len(said) == 1 and isinstance(said[0], ast.Raise) and "NotImplementedError" in ast.dump(said[0])


def _may_be_layer(loaded: Loaded, name: str) -> bool:
    return loaded.path is not None and name in Scan(read_tree(Path(loaded.path))).layers
