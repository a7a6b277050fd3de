"""Run Python in a process of its own, as tests of imports and of missing frameworks need it."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Mapping


def run(
    code: str, env: Mapping[str, str | None] | None = None, timeout: float = 240
) -> subprocess.CompletedProcess[str]:
    """The finished process; a variable that is None is taken out of its environment."""
    changed = {**os.environ, **(env or {})}
    return subprocess.run(
        [sys.executable, "-c", code],
        env={name: value for name, value in changed.items() if value is not None},
        stdin=subprocess.DEVNULL,
        capture_output=True,
        text=True,
        timeout=timeout,
        check=False,
    )


def output(code: str, env: Mapping[str, str | None] | None = None, timeout: float = 240) -> str:
    """What a process that must end well printed last; its standard error where it doesn't."""
    done = run(code, env, timeout)
    if done.returncode != 0:
        raise AssertionError(f"the child ended with status {done.returncode}:\n{done.stderr}")
    return done.stdout.rstrip().rpartition("\n")[2]
