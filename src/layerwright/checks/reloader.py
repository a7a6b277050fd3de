"""The program of the spare process: loads saved layers for others, and forgets the user's code after each."""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import linecache
import os
import sys
import threading
import warnings
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import FunctionType, ModuleType
from typing import Any

import keras

from layerwright.checks import internals, messages
from layerwright.checks.attempt import Skip, attempt, foreign
from layerwright.checks.channel import Channel, open_channel
from layerwright.checks.feed import arrays
from layerwright.checks.messages import Message
from layerwright.checks.modules import load_file
from layerwright.checks.reload import ModuleRef
from layerwright.checks.warmup import warm_up

# The caller's probes have seeds of their own: random state that isn't saved must not come back by chance.
SEED = 1_000_003


def answer(request: Message) -> Message:
    """Load and call what a request is about."""
    threads = threading.active_count()
    with forgetting(request["paths"]):
        found = attempt(lambda: _load_and_call(request), lambda path: not foreign(path))
    # What still runs may do anything at any time: the parent starts another process.
    spoilt = {"spoilt": True} if threading.active_count() > threads else {}
    if found.skipped is not None:
        return {"skipped": found.skipped, **spoilt}
    if found.failure is not None:
        at = found.failure.at
        place = {} if at is None else {"path": at.path, "line": at.line}
        return {"error": found.failure.summary, **place, **spoilt}
    return {"outputs": found.get(), **spoilt}


def _load_and_call(request: Message) -> str:
    modules = [_bring(ModuleRef(*ref)) for ref in request["modules"]]
    module, _, name = request["holder"].partition(":")
    holder = getattr(importlib.import_module(module), name)()
    args, kwargs = messages.unpack(request["inputs"])
    internals.seed_everything(SEED)
    with keras.saving.CustomObjectScope({**custom_objects(modules), holder.__name__: holder}):
        layer = keras.saving.load_model(request["saved"], compile=False, safe_mode=False).body
    return messages.pack(arrays(layer(*args, **kwargs)))


def _bring(ref: ModuleRef) -> ModuleType:
    """The module of a reference, fresh; the user's code that can't be run again is a reason to skip."""
    done = attempt(lambda: _module(ref), lambda path: not foreign(path))
    what = Path(ref.path).name if ref.path else ref.name
    if done.failure is not None:
        raise Skip(f"`{what}` can't be loaded in another process: {done.failure.summary}")
    module = done.get()
    missing = [name for name in ref.names if not hasattr(module, name)]
    if missing:
        raise Skip(f"`{missing[0]}` isn't defined where `{what}` is loaded in another process")
    return module


def _module(ref: ModuleRef) -> ModuleType:
    if ref.source is not None:
        return _run(ref.source)
    if ref.name != "__main__" and (ref.path is None or _found_by_name(ref.name, ref.path)):
        return importlib.import_module(ref.name)
    module = load_file(ref.path or "").module
    if ref.name != "__main__":
        sys.modules[ref.name] = module
    return module


def _found_by_name(name: str, path: str) -> bool:
    if name in sys.modules:
        return True
    try:
        spec = importlib.util.find_spec(name)
    except (ImportError, ValueError):
        return False
    return spec is not None and spec.origin is not None and os.path.realpath(spec.origin) == os.path.realpath(path)


def _run(source: str) -> ModuleType:
    name = f"layerwright_shipped_{hashlib.sha256(source.encode('utf-8', 'replace')).hexdigest()[:12]}"
    path = Path(f"{name}.py").resolve()
    path.write_text(source, "utf-8", "replace")
    module = sys.modules[name] = ModuleType(name)
    module.__file__ = str(path)
    exec(compile(source, str(path), "exec", dont_inherit=True), vars(module))
    return module


def custom_objects(named: list[ModuleType]) -> dict[str, Any]:
    """The classes and functions of the user's modules by name: what a careful user passes to `load_model`."""
    others = [sys.modules[name] for name in _users()]
    found: dict[str, Any] = {}
    for module in [*named, *others]:
        for value in list(vars(module).values()):
            if isinstance(value, type | FunctionType) and value.__module__ == module.__name__:
                for inner in _nested(value):
                    found.setdefault(inner.__name__, inner)
    return found


def _nested(value: Any) -> Iterator[Any]:
    yield value
    if isinstance(value, type):
        for inner in list(vars(value).values()):
            if isinstance(inner, type) and inner.__qualname__.startswith(value.__qualname__ + "."):
                yield from _nested(inner)


@contextmanager
def forgetting(paths: list[str]) -> Iterator[None]:
    """Run the user's code with these import paths, and leave no module of the user's, class or setting behind."""
    before, here = list(sys.path), os.getcwd()
    sys.path.extend(path for path in paths if path not in sys.path)
    importlib.invalidate_caches()
    registered: Mapping[str, Any] = {}
    try:
        with internals.global_state_kept():
            try:
                yield
            finally:
                registered = dict(keras.saving.get_custom_objects())
    finally:
        sys.path[:] = before
        os.chdir(here)
        for name in _users():
            del sys.modules[name]
        # A library stays imported, and doesn't register its classes again when it is imported again.
        stay = {name: value for name, value in registered.items() if getattr(value, "__module__", None) in sys.modules}
        for name, value in stay.items():
            keras.saving.get_custom_objects().setdefault(name, value)
        linecache.clearcache()


def _users() -> list[str]:
    """The names of the user's modules: neither Python's, nor a library's, nor there before the first request."""
    found = [(name, module) for name, module in list(sys.modules.items()) if name.split(".")[0] not in _kept]
    return [name for name, module in found if isinstance(module, ModuleType) and not _foreign(module)]


def _foreign(module: ModuleType) -> bool:
    places = [getattr(module, "__file__", None), *list(getattr(module, "__path__", []))[:1]]
    place = next((place for place in places if isinstance(place, str)), None)
    return place is None or foreign(place)


_kept: frozenset[str] = frozenset({"__main__"})


def serve(channel: Channel) -> None:
    """Answer requests until the parent ends."""
    global _kept
    warm_up()
    _kept = frozenset(name.split(".")[0] for name in sys.modules)
    gc.collect()
    gc.freeze()  # the frameworks' objects stay: collecting after each request looks at the user's only
    channel.send({"event": "ready"})
    while True:
        request = channel.receive()
        channel.forget_stacks()
        channel.send(answer(request))
        gc.collect()


if __name__ == "__main__":
    channel = open_channel()
    warnings.simplefilter("ignore")
    serve(channel)
