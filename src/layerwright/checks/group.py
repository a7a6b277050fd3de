"""A child's whole process group: its members, the memory they use, and their end."""

from __future__ import annotations

import contextlib
import os
import signal

import psutil

ROUNDS = 20


def members(leader: int) -> list[psutil.Process]:
    """Every process of the session that `leader` leads, and every descendant that left it; zombies excluded."""
    found = {pid for pid in psutil.pids() if _session(pid) == leader}
    with contextlib.suppress(psutil.Error):
        found.update(child.pid for child in psutil.Process(leader).children(recursive=True))
    alive = []
    for pid in found:
        with contextlib.suppress(psutil.Error):
            process = psutil.Process(pid)
            if process.status() != psutil.STATUS_ZOMBIE:
                alive.append(process)
    return alive


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


def kill(leader: int) -> None:
    """End the session of `leader` and all its descendants, however fast they multiply."""
    # The kernel signals a group in one go: a process that forks meanwhile is signalled with its child.
    outside = members(leader)
    with contextlib.suppress(OSError):
        os.killpg(leader, signal.SIGKILL)
    for _ in range(ROUNDS):
        for process in outside:
            with contextlib.suppress(psutil.Error):
                process.kill()
        outside = members(leader)
        if not outside:
            return
