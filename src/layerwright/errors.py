"""Every exception of layerwright, and the one function that words them.

A message has four slots, always in this order: what happened (it stands alone), what was expected,
what was got, how to fix it, and where. Findings of the checks are worded by the same function.
"""

from __future__ import annotations

import difflib
from collections.abc import Iterable

SLOTS = ("Expected", "Got", "Fix", "Where")


def four_slots(
    message: str,
    *,
    expected: str | None = None,
    got: str | None = None,
    fix: str | None = None,
    where: str | None = None,
) -> str:
    """Word a message: one sentence, then one indented line for each slot that is filled."""
    lines = [message]
    for name, text in zip(SLOTS, (expected, got, fix, where), strict=True):
        if text:
            first, *rest = text.splitlines()
            lines.append(f"  {name + ':':<9} {first}")
            lines.extend(" " * 12 + line for line in rest)
    return "\n".join(lines)


class LayerwrightError(Exception):
    """Base of all errors of layerwright; `str(error)` is the whole four-slot message.

    Args:
        message: What happened, in one sentence that stands alone.
        expected, got, fix, where: The other slots; an empty one is left out.
    """

    def __init__(
        self,
        message: str,
        *,
        expected: str | None = None,
        got: str | None = None,
        fix: str | None = None,
        where: str | None = None,
    ) -> None:
        super().__init__(four_slots(message, expected=expected, got=got, fix=fix, where=where))
        self.message, self.expected, self.got, self.fix, self.where = message, expected, got, fix, where


class SubjectError(LayerwrightError, TypeError):
    """What was given to `check` isn't a layer, a model, or a way to make one."""


class InputsError(LayerwrightError, ValueError):
    """The inputs given to `check` can't be fed to the layer, or can't be read."""


class TargetError(LayerwrightError, ValueError):
    """A target of the command line isn't there, or holds nothing that can be checked."""


class RuleError(LayerwrightError, ValueError):
    """A rule was named that doesn't exist, or a rule is declared wrongly."""


class BackendError(LayerwrightError, ImportError):
    """No framework is installed, or not the one that was asked for."""


class SourceError(LayerwrightError, SyntaxError):
    """A file that should be checked isn't Python that can be read."""


class SignatureError(LayerwrightError, ValueError):
    """The signature of a kernel can't be read, or doesn't fit its function."""


class ShapeError(LayerwrightError, ValueError):
    """Arguments of a kernel have shapes that don't fit its signature."""


class DtypeError(LayerwrightError, TypeError):
    """Arguments of a kernel have dtypes that it can't compute in."""


class GradientError(LayerwrightError, NotImplementedError):
    """A gradient is asked for that isn't there, or is wrong."""


class DifferentiationError(LayerwrightError, NotImplementedError):
    """A function can't be differentiated: its source isn't there, or holds what has no derivative here."""


class KernelError(LayerwrightError, RuntimeError):
    """A kernel refused the buffers that it was given, or can't run here."""


def nearest(word: str, known: Iterable[str], count: int = 3) -> list[str]:
    """The known words nearest to a misspelt one, best first; empty where none is near."""
    known = list(known)
    close = difflib.get_close_matches(word.lower(), known, count, cutoff=0.5)
    return close or [name for name in known if word.lower() in name][:count]
