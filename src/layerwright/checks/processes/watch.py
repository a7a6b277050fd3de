"""Watching over a child process: whether it got ready, keeps within its limits, and how it was lost."""

from __future__ import annotations

import time

from layerwright.checks.processes import group, limits
from layerwright.checks.processes.limits import Limits, Loss
from layerwright.checks.processes.process import Child, Ended, WorkerError

START_SECONDS = 180.0
TICK = 0.2


def ready(child: Child, seconds: float = START_SECONDS) -> Child:
    """The child, once it has imported its framework.

    Raises:
        WorkerError: Where it can't.
    """
    try:
        message = child.receive(seconds)
    except Ended:
        message = {}
    if message == {"event": "ready"}:
        return child
    words = child.output().strip().splitlines()[-1:] if child.over(0.5) else []
    child.kill()
    raise WorkerError(
        f"A worker process could not import Keras on the backend `{child.backend}`.",
        got=(message or {}).get("error") or "".join(words) or f"no answer within {seconds:g} s",
        fix=f'try `KERAS_BACKEND={child.backend} python -c "import keras"`, and repair what it shows.',
    )


def exceeded(child: Child, allowed: Limits, deadline: float) -> Loss | None:
    """What a child uses too much of, with the line where it does; None where it keeps within its limits."""
    processes = child.members()
    if len(processes) > allowed.processes:
        return limits.too_many(len(processes), allowed.processes, child.stack())
    used = group.memory(processes, allowed.memory)
    if used > allowed.memory:
        return limits.too_large(used, allowed.memory, child.stack())
    if time.monotonic() > deadline:
        return limits.timed_out(allowed.seconds, child.stack())
    return None


def ended(worker: Child) -> Loss:
    """How a child was lost that sends no more."""
    alone, trace = worker.over(), worker.trace()
    status = worker.kill()
    return limits.gone(status, trace, worker.output()) if alone else limits.unheard(trace)
