"""Starting a child process in a session of its own, talking to it, and ending it with all that it started."""

from __future__ import annotations

import codecs
import contextlib
import os
import queue
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Mapping
from pathlib import Path

import psutil

from layerwright.checks.processes import group, messages, variables
from layerwright.checks.processes.messages import Message
from layerwright.errors import LayerwrightError

SEND_SECONDS = 30.0
LONGEST_LINE = 1 << 30


class WorkerError(LayerwrightError, RuntimeError):
    """No worker process can be started, so that nothing can be checked."""


class Ended(Exception):
    """The child closed its end of the pipe: it exited, was killed, or lost its file descriptors."""


class Child:
    """A Python process that runs one module of layerwright for us.

    It leads a session of its own, works in a temporary folder, reads nothing from standard input, and what it
    prints is drained and cut. Messages travel over a pipe pair of their own.

    Args:
        module: The module to run; it calls `channel.open_channel()`.
        backend: The framework on which Keras runs there.
        output: How many bytes of what it prints are kept (the last ones).
        extra: Further environment variables.
    """

    def __init__(
        self, module: str, backend: str, output: int = 1 << 20, extra: Mapping[str, str] | None = None
    ) -> None:
        if os.name != "posix":
            raise WorkerError(
                "layerwright cannot start worker processes on this system.",
                expected="Linux or macOS: a worker is stopped together with all processes that it started",
                got=sys.platform,
                fix="check in process with `layerwright.check(...)`, or run the command under WSL.",
            )
        self.backend, self.started = backend, time.monotonic()
        self._killed, self._sending = False, threading.Lock()
        self._seen: set[psutil.Process] = set()
        self._folder = tempfile.TemporaryDirectory(prefix="layerwright-", ignore_cleanup_errors=True)
        self._trace = Path(self._folder.name) / "trace"
        self._tail, self._keep = bytearray(), output
        self._messages: queue.SimpleQueue[Message | None] = queue.SimpleQueue()
        self._start(module, variables.environment(backend, extra))

    def _start(self, module: str, given: Mapping[str, str]) -> None:
        work, temporary = Path(self._folder.name) / "work", Path(self._folder.name) / "tmp"
        work.mkdir()
        temporary.mkdir()  # a process that is killed can't remove its temporary files
        commands, self._commands = os.pipe()
        answers, told = os.pipe()
        trace = os.open(self._trace, os.O_CREAT | os.O_RDWR | os.O_APPEND, 0o600)
        theirs = (commands, told, trace)
        try:
            # -P: the working folder is the user's layer's to litter, nothing is imported from it.
            self._process = subprocess.Popen(
                [sys.executable, "-P", "-m", module, *map(str, theirs)],
                stdin=subprocess.DEVNULL,
                stdout=subprocess.PIPE,
                stderr=subprocess.STDOUT,
                pass_fds=theirs,
                start_new_session=True,
                cwd=work,
                env={**given, "TMPDIR": str(temporary)},
            )
        except OSError as error:
            os.close(self._commands)
            os.close(answers)
            self._folder.cleanup()
            raise WorkerError(
                "A worker process cannot be started.",
                got=messages.summary(error),
                fix="free memory or processes, or check in process with `layerwright.check(...)`.",
            ) from error
        finally:
            for fd in theirs:
                os.close(fd)
        os.set_blocking(self._commands, False)
        self._answers = answers
        self._threads = [threading.Thread(target=job, daemon=True) for job in (self._read, self._drain)]
        for thread in self._threads:
            thread.start()

    def _read(self) -> None:
        with open(self._answers, "rb") as file:
            while line := file.readline(LONGEST_LINE):
                message = messages.decode(line)
                if message is not None:
                    self._messages.put(message)
        self._messages.put(None)

    def _drain(self) -> None:
        pipe = self._process.stdout
        if pipe is None:
            return
        with pipe, contextlib.suppress(OSError, ValueError):
            while chunk := os.read(pipe.fileno(), 1 << 16):
                self._tail += chunk
                if len(self._tail) > 2 * self._keep:
                    del self._tail[: -self._keep]

    @property
    def pid(self) -> int:
        """The number of the process, its group and its session."""
        return self._process.pid

    def output(self) -> str:
        """The end of what it and its children printed."""
        return codecs.decode(bytes(self._tail[-self._keep :]), "utf-8", "replace")

    def send(self, message: Mapping[str, object], seconds: float = SEND_SECONDS) -> bool:
        """Send a message; False where it isn't taken in time, or nobody is left to take it."""
        data, deadline = memoryview(messages.encode(message)), time.monotonic() + seconds
        with self._sending:
            while data:
                if self._killed or time.monotonic() > deadline:
                    return False
                try:
                    data = data[os.write(self._commands, data) :]
                except BlockingIOError:
                    time.sleep(0.002)
                except OSError:
                    return False
        return True

    def receive(self, seconds: float) -> Message | None:
        """The next message; None where none came in time.

        Raises:
            Ended: Where none can come any more.
        """
        try:
            message = self._messages.get(timeout=max(seconds, 0.0))
        except queue.Empty:
            if group.ended(self.pid):  # a child that it left behind may hold the pipe open
                return self._last()
            return None
        if message is None:
            raise Ended
        return message

    def _last(self) -> Message:
        # What it sent before it ended is still on its way from the reading thread.
        with contextlib.suppress(queue.Empty):
            message = self._messages.get(timeout=0.2)
            if message is not None:
                return message
        raise Ended

    def trace(self) -> str:
        """The stacks that `faulthandler` wrote since the subject began: at a crash, or because they were asked for."""
        try:
            return self._trace.read_text("utf-8", "replace")
        except OSError:
            return ""

    def stack(self, seconds: float = 1.0) -> str:
        """Where it is now; works in native code too. Empty where it doesn't answer."""
        before = len(self.trace())
        with contextlib.suppress(OSError):
            os.kill(self.pid, signal.SIGUSR1)
        deadline = time.monotonic() + seconds
        while time.monotonic() < deadline and len(self.trace()) <= before:
            time.sleep(0.02)
        time.sleep(0.02)  # it is written piece by piece
        return self.trace()[before:]

    def over(self, seconds: float = 3.0) -> bool:
        """Whether the process has ended, or does so within a moment: pipes are closed before the process is gone."""
        deadline = time.monotonic() + seconds
        while not (ended := group.ended(self.pid)) and time.monotonic() < deadline:
            time.sleep(0.02)
        return ended

    def members(self) -> list[psutil.Process]:
        """The process and all that it started, as far as they live; they are remembered, wherever they go."""
        found = group.members(self.pid, self._seen)
        self._seen.update(found)
        return found

    def kill(self) -> int:
        """End it and all that it started, at once; its exit status, negative for a signal."""
        if not self._killed:
            self._killed = True
            group.kill(self.pid, self._seen)
            with self._sending, contextlib.suppress(OSError):
                os.close(self._commands)  # its number may be given to another worker's pipe: nobody writes any more
            with contextlib.suppress(subprocess.TimeoutExpired):
                self._process.wait(timeout=10)
            for thread in self._threads:
                thread.join(timeout=1)
            self._folder.cleanup()
        return self._process.returncode if self._process.returncode is not None else -int(signal.SIGKILL)
