"""A child's end: its messages, and what makes its losses explainable. Started by `process.Child`."""

from __future__ import annotations

import contextlib
import faulthandler
import os
import queue
import signal
import sys
import threading
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

from layerwright.checks.processes import messages
from layerwright.checks.processes.messages import Message


class Channel:
    """The pipe pair to the parent.

    Args:
        commands, answers: File descriptors to read from and to write to.
        trace: That of the file for stacks.
    """

    def __init__(self, commands: int, answers: int, trace: int) -> None:
        self._pid, self._commands, self._answers, self._trace = os.getpid(), commands, answers, trace
        self._waiting: queue.SimpleQueue[Message] = queue.SimpleQueue()
        self._writing = threading.Lock()
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        with open(self._commands, "rb", closefd=False) as file:
            for line in file:
                message = messages.decode(line)
                if message is not None:
                    self._waiting.put(message)
        # The parent is gone, and nobody waits for an answer.
        os.killpg(os.getpgid(0), signal.SIGKILL)

    def receive(self) -> Message:
        """The next message from the parent."""
        return self._waiting.get()

    def forget_stacks(self) -> None:
        """Empty the file for stacks: another subject begins."""
        with contextlib.suppress(OSError):
            os.ftruncate(self._trace, 0)

    def send(self, message: Mapping[str, Any]) -> None:
        """Send a message to the parent."""
        if os.getpid() != self._pid:
            os._exit(0)  # a process that the user's code forked, and let run on
        data = memoryview(messages.encode(message))
        with self._writing:
            while data:
                data = data[os.write(self._answers, data) :]

    def close(self) -> None:
        """Close both ends: in a process that the user's code forked."""
        for fd in (self._commands, self._answers):
            with contextlib.suppress(OSError):
                os.close(fd)


def open_channel() -> Channel:
    """Take over the file descriptors that the parent named in the arguments, and prepare for the worst."""
    commands, answers, trace = map(int, sys.argv[1:4])
    del sys.argv[1:]
    for fd in (commands, answers, trace):
        os.set_inheritable(fd, False)
    channel = Channel(commands, answers, trace)
    os.register_at_fork(after_in_child=channel.close)
    _explain_losses(trace)
    with contextlib.suppress(OSError):
        # Where memory runs out on the whole machine, the kernel should end this process and not the user's others.
        Path("/proc/self/oom_score_adj").write_text("1000")
    return channel


def _explain_losses(trace: int) -> None:
    """Write the Python stack where the process crashes, where the parent asks for it, and where it ends itself."""
    faulthandler.enable(file=trace, all_threads=True)
    faulthandler.register(signal.SIGUSR1, file=trace, all_threads=True, chain=False)
    pid, leave = os.getpid(), os._exit

    def recorded(status: int) -> None:
        if os.getpid() == pid:
            faulthandler.dump_traceback(file=trace, all_threads=False)
        leave(status)

    _replace_exit(recorded)


def _replace_exit(function: Callable[[int], None]) -> None:
    os._exit = function  # type: ignore[assignment]
