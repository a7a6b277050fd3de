"""What every command shares: how its words are read, and how it ends."""

from __future__ import annotations

import contextlib
import errno
import math
import os
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import click

from layerwright.errors import LayerwrightError, nearest

QUIET_END = 130
COMPLETION = "_LAYERWRIGHT_COMPLETE"


class Positive(click.FloatRange):
    """A finite number above 0."""

    def __init__(self) -> None:
        super().__init__(0, min_open=True)

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> Any:
        """The number; `nan` and `inf` would be no limit."""
        number = super().convert(value, param, ctx)
        return number if math.isfinite(number) and number < 1e9 else self.fail(f"{number} is no limit.", param, ctx)


class Commands(click.Group):
    """The group of all commands; an unknown one is told in four slots."""

    def resolve_command(self, ctx: click.Context, args: list[str]) -> Any:
        """The command that the first word names."""
        word = args[0]
        if self.get_command(ctx, word) is None and not word.startswith("-"):
            known = self.list_commands(ctx)
            close = nearest(word, known, 1)
            meant = f"check {word}" if Path(word).suffix or Path(word).exists() else next(iter(close), None)
            raise LayerwrightError(
                f"`{ctx.command_path}` has no command `{word}`.",
                expected=", ".join(known),
                got=word,
                fix=f"write `{ctx.command_path} {meant}`." if meant else f"see `{ctx.command_path} --help`.",
            )
        return super().resolve_command(ctx, args)


def status(command: click.Group, argv: Sequence[str]) -> int:
    """Run a command; its exit status, whatever happens in it."""
    if COMPLETION in os.environ:
        command.main(prog_name="layerwright")  # answers the shell, and ends
    try:
        with command.make_context("layerwright", list(argv)) as context:
            code = command.invoke(context)
        if sys.stdout is not None:
            sys.stdout.flush()
    except click.exceptions.Exit as end:
        code = end.exit_code
    except (KeyboardInterrupt, click.Abort):
        code = QUIET_END
    except BrokenPipeError:
        _forget_output()
        code = QUIET_END
    except OSError as error:
        from layerwright.reports import failure

        unwritable = error.errno in (errno.ENOSPC, errno.EBADF, errno.EIO)
        if unwritable:
            _forget_output()
        told = (
            LayerwrightError("The output can't be written.", got=error.strerror or str(error)) if unwritable else error
        )
        code = failure.tell(told, argv)
    except Exception as error:
        from layerwright.reports import failure

        code = failure.tell(error, argv)
    return int(code or 0)


def _forget_output() -> None:
    """Who read the output has seen enough; Python would complain once more when it flushes at its end."""
    with contextlib.suppress(OSError, ValueError):
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
