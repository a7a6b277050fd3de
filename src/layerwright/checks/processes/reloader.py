"""The program of the spare process: loads saved layers for others, and forgets the user's code after each."""

from __future__ import annotations

import gc
import hashlib
import importlib
import importlib.util
import os
import sys
import threading
import warnings
from pathlib import Path
from types import ModuleType

import keras

from layerwright.checks import internals
from layerwright.checks.attempt import Skip, attempt, foreign
from layerwright.checks.feed import arrays
from layerwright.checks.loading.modules import load_file
from layerwright.checks.processes import forgetting, messages
from layerwright.checks.processes.channel import Channel, open_channel
from layerwright.checks.processes.messages import Message
from layerwright.checks.processes.reload import ModuleRef
from layerwright.checks.processes.warmup import warm_up
from layerwright.checks.rules.config._saved_parts import last_line

# The caller's probes have seeds of their own: random state that isn't saved must not come back by chance.
SEED = 1_000_003


def answer(request: Message) -> Message:
    """Load and call what a request is about."""
    threads = threading.active_count()
    with forgetting.everything(request["paths"]):
        found = attempt(lambda: _load_and_call(request), lambda path: not foreign(path))
    # What still runs may do anything at any time: the parent starts another process.
    spoilt = {"spoilt": True} if threading.active_count() > threads else {}
    if found.skipped is not None:
        return {"skipped": found.skipped, **spoilt}
    if found.failure is not None:
        at = found.failure.at
        place = {} if at is None else {"path": at.path, "line": at.line}
        return {"error": f"{found.failure.kind}: {last_line(found.failure)}", **place, **spoilt}
    return {"outputs": found.get(), **spoilt}


def _load_and_call(request: Message) -> str:
    modules = [_bring(ModuleRef(*ref)) for ref in request["modules"]]
    module, _, name = request["holder"].partition(":")
    holder = getattr(importlib.import_module(module), name)()
    args, kwargs = messages.unpack(request["inputs"])
    internals.seed_everything(SEED)
    with keras.saving.CustomObjectScope({**forgetting.custom_objects(modules), holder.__name__: holder}):
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


def serve(channel: Channel) -> None:
    """Answer requests until the parent ends."""
    warm_up()
    forgetting.keep_modules()
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
