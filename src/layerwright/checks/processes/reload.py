"""Loads a saved layer in another process, which has never seen the objects that it was saved from.

One spare process a backend has everything imported and answers one request after another. It drops the user's
modules between two requests, and is replaced when a request hangs, crashes, or eats all memory.
"""

from __future__ import annotations

import atexit
import contextlib
import dataclasses
import os
import pickle
import sys
import threading
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

from layerwright.checks.processes import messages
from layerwright.checks.processes.limits import Limits
from layerwright.checks.processes.messages import Message
from layerwright.checks.processes.process import Child, WorkerError
from layerwright.checks.processes.spare import Spare

if TYPE_CHECKING:
    import numpy as np

    from layerwright.checks.processes.channel import Channel

HOLDER = "layerwright.checks.probes.saving:holder_class"


class ModuleRef(NamedTuple):
    """How a fresh process finds classes.

    Attributes:
        name: The module's name.
        path: Its file; None where it is found by its name alone.
        source: The text to run, where neither would do.
        names: What must be defined there.
    """

    name: str
    path: str | None = None
    source: str | None = None
    names: tuple[str, ...] = ()


@dataclasses.dataclass(frozen=True)
class Reloaded:
    """What came of loading a layer in another process. One of `outputs`, `error` and `skipped` isn't None.

    Attributes:
        outputs: Its outputs for the inputs, flat.
        error: What loading or calling raised, or how the process was lost.
        skipped: Why it could not be tried.
        seconds: How long it took, the start of the process left out.
        path, line: The user's innermost line, where there is an error.
    """

    outputs: list[np.ndarray] | None = None
    error: str | None = None
    skipped: str | None = None
    seconds: float = 0.0
    path: str | None = None
    line: int | None = None


def load_and_call(
    saved: Path,
    modules: Sequence[ModuleRef],
    inputs: tuple[Sequence[Any], Mapping[str, Any]],
    backend: str,
    holder: str = HOLDER,
    allowed: Limits | None = None,
) -> Reloaded:
    """Load a saved layer in another process, call it there, and bring its outputs back.

    Args:
        saved: A `.keras` file: a model of the class that `holder` makes, with the layer as its attribute `body`.
        modules: Where the classes of the layer and of what it holds are found; see `shipping.refer`.
        inputs: The arguments of the call, `(args, kwargs)`, of NumPy arrays and plain values.
        backend: The framework.
        holder: `module:function`; the function returns the holder's class.
        allowed: What loading and calling may use.
    """
    try:
        packed = messages.pack((tuple(inputs[0]), dict(inputs[1])))
    except (pickle.PicklingError, TypeError, AttributeError) as error:
        return Reloaded(skipped=f"an input can't be sent to another process: {messages.summary(error)}")
    request: Message = {
        "saved": os.path.abspath(saved),
        "modules": [tuple(ref) for ref in modules],
        "inputs": packed,
        "holder": holder,
        "paths": [os.getcwd(), *(os.path.abspath(path) for path in sys.path if path)],
    }
    if _channel is not None:
        _channel.send({"event": "reload", "request": request})
        return _read(_channel.receive())
    return _read(_spare(backend).ask(request, allowed or Limits()))


def warm(backend: str) -> None:
    """Start the other process, so that it is ready when it is needed; returns at once."""
    if _channel is not None:
        _channel.send({"event": "warm"})
    else:
        with contextlib.suppress(WorkerError):
            _spare(backend).start()


def starting(backend: str) -> bool:
    """Whether the other process was started and isn't ready yet."""
    return backend in _spares and _spares[backend].starting()


def close(backend: str | None = None) -> None:
    """End the other process of a backend, or of all."""
    for name in [backend] if backend is not None else list(_spares):
        spare = _spares.pop(name, None)
        if spare is not None:
            spare.close()


def ask_through(channel: Channel) -> None:
    """Let the parent's spare process serve this one, which is a worker: all workers share it."""
    global _channel
    _channel = channel


def answer(child: Child, message: Message, allowed: Limits, go_on: Callable[[], None]) -> None:
    """Serve a worker's request.

    Args:
        child: The worker.
        message: What it asked.
        allowed: What loading and calling may use.
        go_on: Called when the answer is there, before it is sent.
    """
    try:
        reply = _spare(child.backend).ask(message["request"], allowed)
    except Exception as error:  # the worker waits for an answer
        reply = {"skipped": messages.summary(error)}
    go_on()
    child.send(reply)


def _read(reply: Message) -> Reloaded:
    fields = {name: reply.get(name) for name in ("error", "skipped", "path", "line")}
    outputs = reply.get("outputs")
    if outputs is not None:
        try:
            fields["outputs"] = messages.unpack(outputs)
        except Exception as error:
            fields["skipped"] = f"its outputs can't be brought back: {messages.summary(error)}"
    return Reloaded(**fields, seconds=reply.get("seconds", 0.0))


_channel: Channel | None = None
_spares: dict[str, Spare] = {}
_making = threading.Lock()


def _spare(backend: str) -> Spare:
    with _making:
        if not _spares:
            atexit.register(close)
        return _spares.setdefault(backend, Spare(backend))
