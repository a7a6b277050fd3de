"""The result of trying something with the user's code: a value, a failure with its line, or a reason to skip."""

from __future__ import annotations

import dataclasses
import io
import os
import sysconfig
import traceback
import warnings
from collections.abc import Callable, Iterator
from contextlib import contextmanager, redirect_stderr, redirect_stdout
from functools import cache
from pathlib import Path
from types import TracebackType
from typing import Any, Generic, TypeVar

T = TypeVar("T")
# How Keras begins what it raises about another exception.
WRAPPERS = (
    "Could not automatically infer the output shape",
    "Error when deserializing class",
    "Unable to revive model from config",
)
# A message that is longer than this is nobody's to read.
MOST_CHARACTERS = 20_000
# What Keras puts above the message of an exception that passes through a layer's call.
HEADING = "Exception encountered when calling"


class Skip(Exception):
    """Raised by a probe or a rule that can't decide; the text is the reason."""


@dataclasses.dataclass(frozen=True)
class Frame:
    """One line of a traceback."""

    path: str
    line: int
    function: str


@dataclasses.dataclass(frozen=True)
class Failure:
    """An exception of the user's code, with the cause that hides in it.

    Attributes:
        error: The innermost exception: what Keras' wrappers were raised about.
        frames: The lines of the user's own files on the way to it, the outermost first.
    """

    error: BaseException
    frames: tuple[Frame, ...]

    @property
    def kind(self) -> str:
        """The name of the exception's class."""
        return type(self.error).__name__

    @property
    def text(self) -> str:
        """The message, without colour codes."""
        return text_of(self.error).replace("\x1b[1m", "").replace("\x1b[0m", "").strip()

    @property
    def summary(self) -> str:
        """`Kind: first line of the message`, without Keras' heading, cut to 160 characters."""
        lines = [line.strip() for line in self.text.splitlines() if line.strip() and not line.startswith(HEADING)]
        lines = lines or [""]
        line = f"{self.kind}: {lines[0]}".rstrip(": ")
        return line if len(line) <= 160 else line[:157] + "..."

    @property
    def at(self) -> Frame | None:
        """The innermost line of the user's own code, where the traceback passes through it."""
        return self.frames[-1] if self.frames else None

    def mentions(self, *texts: str) -> bool:
        """Whether one of the texts stands in the message."""
        return any(text in self.text for text in texts)


@dataclasses.dataclass(frozen=True)
class Attempt(Generic[T]):
    """What came of a probe; exactly one of `value`, `failure` and `skipped` speaks."""

    value: T | None = None
    failure: Failure | None = None
    skipped: str | None = None
    warnings: tuple[str, ...] = ()

    @property
    def ok(self) -> bool:
        """Whether the probe ran and gave a value."""
        return self.failure is None and self.skipped is None

    def get(self) -> T:
        """The value; raises `Skip` with the reason where there is none."""
        if self.skipped is not None:
            raise Skip(self.skipped)
        if self.failure is not None:
            raise Skip(f"a probe that this rule needs failed with {self.failure.summary}")
        return self.value  # type: ignore[return-value]


def attempt(probe: Callable[[], T], home: Callable[[str], bool]) -> Attempt[T]:
    """Run a probe; whatever the user's code raises (`sys.exit` included) becomes a failure.

    Args:
        probe: What to run.
        home: Says of a file's path whether it holds the user's own code.
    """
    with quiet() as caught:
        try:
            value = probe()
        except Skip as reason:
            return Attempt(skipped=str(reason))
        except (Exception, SystemExit) as error:
            return Attempt(failure=failure_of(error, home))
    return Attempt(value, warnings=tuple(str(w.message) for w in caught))


def failure_of(error: BaseException, home: Callable[[str], bool]) -> Failure:
    """Look through Keras' wrappers to the exception that they are about."""
    root = error
    while _wraps(root) and root.__context__ is not None:
        root = root.__context__
    frames = tuple(frames_of(root.__traceback__, home)) or tuple(frames_of(error.__traceback__, home))
    return Failure(root, frames)


def text_of(error: BaseException) -> str:
    """An exception's message; its own `__str__` is the user's code and may raise."""
    try:
        return str(error)[:MOST_CHARACTERS]
    except Exception:
        return "(its message can't be shown)"


def _wraps(error: BaseException) -> bool:
    # Keras builds a new exception of the same class from a string; JAX's classes take no string, and that
    # second failure ("_error_repr") is what the user is shown.
    text = text_of(error)
    return text.startswith(WRAPPERS) or "_error_repr" in text or "could not be deserialized properly" in text


def frames_of(trace: TracebackType | None, home: Callable[[str], bool]) -> Iterator[Frame]:
    """The frames of a traceback that lie in the user's own files."""
    for frame, line in traceback.walk_tb(trace):
        path = frame.f_code.co_filename
        if home(path):
            yield Frame(path, line, frame.f_code.co_name)


def layers_in(trace: TracebackType | None) -> list[Any]:
    """The layers whose methods a traceback passes through, the outermost first; each once."""
    import keras

    found: dict[int, Any] = {}
    for frame, _ in traceback.walk_tb(trace):
        first = next(iter(frame.f_code.co_varnames), None)
        owner = frame.f_locals.get(first) if first and frame.f_code.co_argcount else None
        if isinstance(owner, keras.layers.Layer):
            found[id(owner)] = owner
    return list(found.values())


@contextmanager
def quiet() -> Iterator[list[warnings.WarningMessage]]:
    """Catch warnings and printed text of the user's code."""
    sink = io.StringIO()
    with warnings.catch_warnings(record=True) as caught, redirect_stdout(sink), redirect_stderr(sink):
        warnings.simplefilter("always")
        yield caught


@cache
def foreign(path: str) -> bool:
    """Whether a file belongs to Python, to an installed package, or to layerwright: not to the user."""
    if path.startswith("<frozen") or path in ("<string>", "<__array_function__ internals>"):
        return True
    places = {sysconfig.get_path(name) for name in ("stdlib", "platstdlib", "purelib", "platlib")}
    places.add(str(Path(__file__).resolve().parents[1]))
    real = os.path.realpath(path)
    return "site-packages" in real or any(real.startswith(os.path.realpath(p) + os.sep) for p in places if p)


def home_of(classes: list[type]) -> Callable[[str], bool]:
    """What counts as the user's own files: all that isn't foreign, and the packages of these classes."""
    import sys

    own = set()
    for cls in classes:
        if cls.__module__.split(".")[0] == "keras":
            continue
        module: Any = sys.modules.get(cls.__module__.split(".")[0])
        file = getattr(module, "__file__", None)
        if file:
            own.add(os.path.dirname(file) + os.sep if file.endswith("__init__.py") else file)
    prefixes = tuple(own)
    return lambda path: not foreign(path) or (bool(prefixes) and path.startswith(prefixes))
