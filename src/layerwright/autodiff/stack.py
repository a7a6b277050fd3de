"""What a derived function calls while it runs."""

from __future__ import annotations

import numpy as np


def grow(tape: np.ndarray, size: int) -> np.ndarray:
    """A tape with room for `size` numbers at least, and what was on the old one."""
    longer = np.empty(max(2 * tape.size, size), tape.dtype)
    longer[: tape.size] = tape
    return longer
