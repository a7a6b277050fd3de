"""Comparing declared shapes with real ones."""

from __future__ import annotations

from collections.abc import Sequence


def fits(declared: Sequence[int | None], actual: Sequence[int]) -> bool:
    """Whether a shape, with None for what is open, can be the actual one."""
    return len(declared) == len(actual) and all(
        not isinstance(d, int) or d == a for d, a in zip(declared, actual, strict=True)
    )


def shapes(many: Sequence[Sequence[int | None]]) -> str:
    """One shape as it is, several as a list."""
    texts = [str(tuple(shape)) for shape in many]
    return texts[0] if len(texts) == 1 else f"[{', '.join(texts)}]"
