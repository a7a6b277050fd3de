"""A child's whole process group: its members, the memory they use, and their end."""

from __future__ import annotations

import contextlib
import os
import signal
import time
from collections.abc import Collection

import psutil

ROUNDS = 20


def members(leader: int, known: Collection[psutil.Process] = ()) -> list[psutil.Process]:
    """Every living process of the session that `leader` leads, its descendants, and those known from before."""
    pids = {pid for pid in psutil.pids() if _session(pid) == leader}
    with contextlib.suppress(psutil.Error):
        pids.update(child.pid for child in psutil.Process(leader).children(recursive=True))
    found = {process for process in known if process.is_running()}
    for pid in pids - {process.pid for process in found}:
        with contextlib.suppress(psutil.Error):
            found.add(psutil.Process(pid))
    return [process for process in found if _alive(process)]


def _alive(process: psutil.Process) -> bool:
    try:
        return bool(process.status() != psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return False


def _session(pid: int) -> int | None:
    try:
        return os.getsid(pid)
    except OSError:
        return None


def memory(processes: list[psutil.Process], enough: int = 0) -> int:
    """The memory of these processes in bytes.

    Args:
        processes: Whose memory.
        enough: Below this, resident memory will do, in which pages that several processes share count several times.
    """
    resident = sum(_used(process, shared=True) for process in processes)
    if len(processes) == 1 or resident <= enough:
        return resident
    return sum(_used(process, shared=False) for process in processes)


def _used(process: psutil.Process, shared: bool) -> int:
    try:
        if not shared:
            info = process.memory_full_info()
            return int(getattr(info, "pss", info.uss))
        return int(process.memory_info().rss)
    except psutil.NoSuchProcess:
        return 0
    except psutil.Error:
        return 0 if shared else _used(process, shared=True)


def ended(pid: int) -> bool:
    """Whether a child has ended, without reaping it: its number stays taken until the group is gone."""
    try:
        return bool(psutil.Process(pid).status() == psutil.STATUS_ZOMBIE)
    except psutil.Error:
        return True


def kill(leader: int, known: Collection[psutil.Process] = ()) -> None:
    """End the session of `leader` and all its descendants, however fast they multiply.

    Args:
        leader: A child of this process that leads a session.
        known: Processes that it started, which may have left the session since.
    """
    left = members(leader, known)
    # The kernel signals a group in one go: a process that forks meanwhile is signalled with its child.
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(ROUNDS):
        for process in left:
            with contextlib.suppress(psutil.Error):
                process.kill()
        left = members(leader, known)
        if not left:
            return
        time.sleep(0.01)
