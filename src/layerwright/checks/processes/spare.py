"""The process that loads saved layers for others: started ahead, asked again and again, replaced when lost."""

from __future__ import annotations

import contextlib
import os
import threading
import time

from layerwright.checks.processes import group, limits, watch
from layerwright.checks.processes.limits import Limits, Loss
from layerwright.checks.processes.messages import Message
from layerwright.checks.processes.process import Child, Ended, WorkerError

PROGRAM = "layerwright.checks.processes.reloader"


class Spare:
    """The process that loads for us."""

    def __init__(self, backend: str) -> None:
        self._backend = backend
        self._child: Child | None = None
        self._ready = False
        self._lock = threading.Lock()

    def start(self) -> None:
        """Start it, where it isn't running."""
        if self._child is None and self._lock.acquire(blocking=False):
            try:
                self._launch()
            finally:
                self._lock.release()

    def starting(self) -> bool:
        """Whether it was started, and isn't ready yet."""
        if not self._lock.acquire(blocking=False):
            return not self._ready
        try:
            if self._child is not None and not self._ready:
                try:
                    self._ready = self._child.receive(0) == {"event": "ready"}
                except Ended:
                    self._drop()
            return self._child is not None and not self._ready
        finally:
            self._lock.release()

    def ask(self, request: Message, allowed: Limits) -> Message:
        """Send a request, and wait for the answer."""
        with self._lock:
            try:
                if self._child is not None and group.ended(self._child.pid):
                    self._drop()  # by something that an earlier request left behind
                child = self._launch()
                if not self._ready:
                    watch.ready(child)
                    self._ready = True
            except WorkerError as error:
                self._drop()
                return {"skipped": f"{error.message} ({error.got})"}
            started = time.monotonic()
            child.send(request)
            found = _wait(child, allowed)
            if isinstance(found, Loss):
                self._drop()
                with contextlib.suppress(WorkerError):
                    self._launch()
                at = limits.innermost(found.trace, None)
                place = {} if at is None else {"path": at.path, "line": at.line}
                found = {"error": f"the process that loaded it {found.what}", **place}
            elif found.pop("spoilt", False):
                self._drop()
                with contextlib.suppress(WorkerError):
                    self._launch()
            return {**found, "seconds": time.monotonic() - started}

    def close(self) -> None:
        """End it."""
        with self._lock:
            self._drop()

    def _launch(self) -> Child:
        if self._child is None:
            # Another order of sets than here: a layer that depends on it shows.
            seed = "2" if os.environ.get("PYTHONHASHSEED") == "1" else "1"
            self._child = Child(PROGRAM, self._backend, extra={"PYTHONHASHSEED": seed})
        return self._child

    def _drop(self) -> None:
        child, self._child, self._ready = self._child, None, False
        if child is not None:
            child.kill()


def _wait(child: Child, allowed: Limits) -> Message | Loss:
    deadline = time.monotonic() + allowed.seconds
    while True:
        try:
            message = child.receive(watch.TICK)
        except Ended:
            return watch.ended(child)
        if message is not None:
            return message
        loss = watch.exceeded(child, allowed, deadline)
        if loss is not None:
            return loss
