"""How much a subject may use, and how the loss of its process is worded."""

from __future__ import annotations

import dataclasses
import re
import signal
from collections.abc import Iterator

from layerwright.checks.attempt import Frame, foreign
from layerwright.checks.report import Problem

GIB = 1 << 30
KEPT_LINE = 200
_ESCAPE = re.compile(r"\\(?:x([0-9a-f]{2})|u([0-9a-f]{4})|U([0-9a-f]{8}))")
_FRAME = re.compile(r'^  File "(?P<path>.*)", line (?P<line>\d+) in (?P<function>.*)$')


@dataclasses.dataclass(frozen=True)
class Limits:
    """What one subject may use before its worker is stopped.

    Attributes:
        seconds: Time for a subject, and for the import of its file.
        memory: Resident bytes of the worker and all processes that it started.
        output: Bytes that are kept of what it prints; the rest is dropped.
        processes: How many processes it may have at once.
    """

    seconds: float = 60.0
    memory: int = 8 * GIB
    output: int = 1 << 20
    processes: int = 256


@dataclasses.dataclass(frozen=True)
class Loss:
    """How a worker was lost.

    Attributes:
        kind: `"timed-out"`, `"out-of-memory"`, `"exited"` or `"crashed"`, as in `Problem`.
        what: What happened, as the end of a sentence that begins with who did it.
        help: What would let it be checked.
        trace: The stack, as `faulthandler` writes it; empty where none is known.
    """

    kind: str
    what: str
    help: str | None = None
    trace: str = ""

    def problem(self, who: str, path: str | None, line: int | None, importing: bool = False) -> Problem:
        """The outcome for a subject or a file, at the user's innermost line where the stack shows it.

        Args:
            who: The subject or the import, as the sentence's first words.
            path, line: Where the subject stands: in whose file the cause is looked for first.
            importing: Whether the file was being loaded.
        """
        kind = "import-failed" if importing and self.kind in ("exited", "crashed") else self.kind
        at = innermost(self.trace, path)
        if at is not None:
            path, line = at.path, at.line
        return Problem(kind, f"{who} {self.what}.", self.help, path, line)


def innermost(trace: str, path: str | None) -> Frame | None:
    """The innermost frame in this file, else in any that is the user's own; the crashed thread's stack comes first."""
    known = [frame for stack in _stacks(trace) for frame in stack]
    return next((f for f in known if f.path == path), None) or next((f for f in known if not foreign(f.path)), None)


def _stacks(trace: str) -> list[list[Frame]]:
    stacks: list[tuple[bool, list[Frame]]] = []
    for text in trace.splitlines():
        if text.endswith("(most recent call first):"):
            stacks.append((text.startswith("Current thread"), []))
        elif (found := _FRAME.match(text)) and stacks:
            stacks[-1][1].append(Frame(_unescaped(found["path"]), int(found["line"]), found["function"]))
    return [frames for _, frames in sorted(stacks, key=lambda stack: not stack[0])]


def _unescaped(path: str) -> str:
    # faulthandler writes what isn't ASCII as Python does in `ascii()`.
    return _ESCAPE.sub(lambda found: chr(int(next(filter(None, found.groups())), 16)), path)


def timed_out(seconds: float, trace: str) -> Loss:
    """No result came within the limit."""
    return Loss(
        "timed-out", f"did not end within {seconds:g} s", f"`--timeout {2 * seconds:g}` gives it more time.", trace
    )


def too_large(used: int, limit: int, trace: str) -> Loss:
    """The group's memory passed the limit."""
    more = f"`--memory {2 * limit / GIB:g}` allows it more."
    return Loss("out-of-memory", f"used {used / GIB:.1f} GiB, more than the {limit / GIB:.3g} GiB allowed", more, trace)


def too_many(count: int, limit: int, trace: str) -> Loss:
    """The group had too many processes."""
    return Loss("crashed", f"started {count} processes, more than the {limit} allowed, and was stopped", None, trace)


def gone(status: int, trace: str, printed: str) -> Loss:
    """The process ended by itself.

    Args:
        status: Its exit status, negative for a signal.
        printed: The end of what it printed.
    """
    if status >= 0:
        help = "raise an exception where the layer gives up: `os._exit` ends the user's own program too."
        return Loss("exited", f"ended the process with status {status}{_last_words(printed)}", help, trace)
    name = next(iter(_signal(-status)), f"signal {-status}")
    if name == "SIGKILL":
        name += ", as the system does where memory runs out"
    return Loss("crashed", f"ended with the process killed by {name}{_last_words(printed)}", None, trace)


def unheard(trace: str) -> Loss:
    """The process runs on, but without its pipe."""
    return Loss("crashed", "closed file descriptors that aren't its own, the worker's among them", None, trace)


def _signal(number: int) -> Iterator[str]:
    try:
        yield signal.Signals(number).name
    except ValueError:
        return


def _last_words(printed: str) -> str:
    lines = [line.strip() for line in printed.splitlines() if line.strip()]
    return f"; the last it printed: {lines[-1][:KEPT_LINE]}" if lines else ""
