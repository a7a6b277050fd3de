"""Trying inputs on fresh layers until one call goes through; what every failure says steers the next try."""

from __future__ import annotations

import dataclasses
import linecache
import re
import time
from collections.abc import Callable, Iterable
from typing import Any

import keras
import numpy as np

from layerwright.checks import internals
from layerwright.checks.attempt import Attempt, Failure, attempt
from layerwright.checks.feed import leaves
from layerwright.checks.guess.derive import derived
from layerwright.checks.guess.layouts import Layout, fill
from layerwright.checks.guess.view import View
from layerwright.checks.subject import OPEN_BATCH, Spec

MAX_TRIES = 24
MAX_DEPTH = 3
# Of the processor's time, so that a busy machine doesn't change what is found.
SECONDS = 30.0
SAME_FAILURES = 3
# What fails only because no numbers are there.
ONLY_TRACED = re.compile(
    r"[Tt]rac|abstract|symbolic|KerasTensor|[Cc]oncret|[Ss]tateless|initializ|jit|Attribute|NotImpl"
)
# Kinds of exceptions that a layer raises by itself, whatever it is fed.
OWN_KINDS = frozenset(
    {
        "AttributeError",
        "NameError",
        "UnboundLocalError",
        "ImportError",
        "ModuleNotFoundError",
        "NotImplementedError",
        "ZeroDivisionError",
        "RecursionError",
        "SystemExit",
    }
)


@dataclasses.dataclass(frozen=True)
class Try:
    """One call that was tried.

    Attributes:
        layout: The inputs.
        failure: Why it failed, or None.
        keeps_batch: Whether the outputs have the inputs' batch axis.
        empty: Whether a weight or an output has no element: the inputs were too small.
    """

    layout: Layout
    failure: Failure | None
    keeps_batch: bool = False
    empty: bool = False


class Search:
    """Tries on one way to construct a layer.

    Args:
        make: Makes a fresh layer (or the RNN around a cell).
        view: What is known of its inputs.
        home: Says of a path whether it holds the user's own code.
    """

    def __init__(self, make: Callable[[], Any], view: View, home: Callable[[str], bool]) -> None:
        self.make, self.view, self.home = make, view, home
        self.tries: list[Try] = []
        self._known: set[str] = set()
        self._depth: dict[Layout, int] = {}
        self._started = time.process_time()

    def run(self, layouts: Iterable[Layout], limit: int = MAX_TRIES) -> Try | None:
        """The first call that goes through and keeps the batch; None where none does among the next `limit` tries."""
        waiting = list(layouts)
        stop = len(self.tries) + limit
        while waiting and len(self.tries) < stop and time.process_time() - self._started < SECONDS:
            layout = waiting.pop(0)
            told = fill(self.view, layout)
            if repr(told) in self._known:
                continue
            self._known.add(repr(told))
            tried = self._try(layout, *told)
            self.tries.append(tried)
            if tried.failure is None and tried.keeps_batch and not tried.empty:
                return tried
            if tried.empty and layout.rank == 4:
                waiting.insert(0, dataclasses.replace(layout, side=32))
            if tried.failure is not None:
                if self.stuck:
                    return None
                waiting[:0] = self._derived(layout, tried.failure)
        return None

    def _derived(self, layout: Layout, failure: Failure) -> list[Layout]:
        """Inputs that the failure asks for, unless the layout came from other failures already."""
        depth = self._depth.get(layout, 0)
        found = derived(layout, failure) if depth < MAX_DEPTH else []
        for one in found:
            self._depth.setdefault(one, depth + 1)
        return found

    def _try(self, layout: Layout, args: tuple[Any, ...], kwargs: dict[str, Any]) -> Try:
        fed = arrays((args, kwargs))
        done = traced(self.make, fed, self.home) if keras.backend.backend() == "jax" else None
        done = done or attempt(lambda: call_once(self.make, fed), self.home)
        if done.failure is not None:
            return Try(layout, done.failure)
        layer, outputs = done.get()
        return Try(layout, None, _keeps_batch(outputs), _has_empty(layer, outputs))

    @property
    def passed(self) -> Try | None:
        """A call that went through without keeping the batch; one of rank 1 is taken for a coincidence."""
        passed = (t for t in self.tries if t.failure is None)
        return next((t for t in passed if t.layout.rank > 1 or t.layout.dtype != "float32"), None)

    @property
    def failures(self) -> list[tuple[Layout, Failure]]:
        """What failed, in order."""
        return [(t.layout, t.failure) for t in self.tries if t.failure is not None]

    @property
    def stuck(self) -> bool:
        """Whether inputs of several ranks fail in the same words at the same line: the fault isn't in the inputs."""
        ranks = {layout.rank for layout, _ in self.failures}
        texts = {_said(failure) for _, failure in self.failures}
        if len(self.failures) != len(self.tries) or len(texts) > 1 or len(ranks) < SAME_FAILURES:
            return False
        return not about_inputs(self.failures[0][1])

    @property
    def nearest(self) -> tuple[Layout, Failure] | None:
        """The failure that came nearest to a call that goes through: deepest, then latest, in the user's code."""
        return max(self.failures, key=lambda f: (len(f[1].frames), f[1].at.line if f[1].at else 0), default=None)


def call_once(make: Callable[[], Any], fed: Any) -> tuple[Any, Any]:
    """A fresh layer, and what it gives for these inputs."""
    layer = make()
    return layer, layer(*fed[0], **fed[1])


def traced(make: Callable[[], Any], fed: Any, home: Callable[[str], bool]) -> Attempt[tuple[Any, Any]] | None:
    """What comes of a call, told from shapes alone; None where that can't be told.

    On JAX, every operation on a new shape is compiled: trying inputs with numbers would take seconds.
    """
    import jax

    flat, structure = jax.tree.flatten(fed)
    made: list[Any] = []

    def call(*given: Any) -> Any:
        values = iter(given)
        args, kwargs = structure.unflatten([next(values) if isinstance(x, np.ndarray) else x for x in flat])
        layer, outputs = call_once(make, (args, kwargs))
        made.append(layer)
        return outputs

    def trace() -> tuple[Any, Any]:
        with keras.StatelessScope():
            try:
                outputs = jax.eval_shape(call, *(x for x in flat if isinstance(x, np.ndarray)))
            finally:
                internals.forget_uninitialized_variables()
        return made[0], outputs

    done = attempt(trace, home)
    if done.failure is not None and ONLY_TRACED.search(f"{done.failure.kind} {done.failure.text}"):
        return None
    return done


def _has_empty(layer: Any, outputs: Any) -> bool:
    shapes = [*(w.shape for w in layer.weights), *(getattr(y, "shape", ()) for y in leaves(outputs))]
    return any(0 in tuple(shape) for shape in shapes)


def on_purpose(failure: Failure) -> bool:
    """Whether the user's own code raises the exception."""
    at = failure.at
    return at is not None and bool(re.match(r"\s*(raise|assert)\b", linecache.getline(at.path, at.line)))


def about_inputs(failure: Failure) -> bool:
    """Whether a failure is the code's own judgement of its inputs: raised on purpose, by the user or by Keras."""
    at = failure.at
    if on_purpose(failure):
        return failure.kind not in ("NotImplementedError", "SystemExit")
    asks = r"list of|expects? \d+ input|ndim|input_spec|incompatible with the layer|must be an? (list|tuple|dict)"
    return at is None and bool(re.search(asks, failure.text))


def own_fault(failures: list[Failure]) -> bool:
    """Whether failures show a fault of the layer's own, whatever it is fed."""
    if not failures or any(about_inputs(f) for f in failures):
        return False
    return failures[0].kind in OWN_KINDS or len({_said(f) for f in failures}) == 1 or _signature_fault(failures[0])


def _signature_fault(failure: Failure) -> bool:
    return failure.mentions(
        "positional argument", "unexpected keyword", "multiple values", "build()", "super().__init__"
    )


def _said(failure: Failure) -> tuple[str, Any, str]:
    where = (failure.at.path, failure.at.line) if failure.at else None
    text = re.sub(r"0x[0-9a-f]+|_\d+", "", failure.text)
    return failure.kind, where, text


def _keeps_batch(outputs: Any) -> bool:
    if outputs is None:
        return True
    shapes = [getattr(y, "shape", None) for y in leaves(outputs)]
    return not shapes or any(shape is not None and len(shape) > 0 and shape[0] == OPEN_BATCH for shape in shapes)


def arrays(inputs: Any) -> Any:
    """Inputs with an array for every `Spec`, each with other values."""
    count = iter(range(1000))
    return keras.tree.map_structure(lambda x: x.array(next(count)) if isinstance(x, Spec) else x, inputs)
