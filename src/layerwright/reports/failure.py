"""How an exception that reaches the command line is told: always in four slots, never as a traceback of ours."""

from __future__ import annotations

import platform
import re
import sys
import tempfile
import traceback
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from layerwright.errors import LayerwrightError, four_slots, nearest
from layerwright.reports.console import console, prose, wrapped, write

if TYPE_CHECKING:
    from rich.console import Console

USAGE = 2
INTERNAL = 70
QUOTED = re.compile(r"'([^']*)'")
NEEDED = {
    "TARGET": "a .py file, a folder, a module or package, package.module:Name, or a .keras file",
    "RULE": "the name or the code of a rule; `layerwright rules` lists them",
}


def tell(error: Exception, argv: Sequence[str]) -> int:
    """Write what went wrong on stderr; the exit status that belongs to it."""
    if isinstance(error, LayerwrightError):
        text, code = str(error), USAGE
    elif isinstance(error, click.ClickException):
        text, code = usage(error, argv), USAGE
    else:
        text, code = internal(error, argv), INTERNAL
    show(console(sys.stderr), text)
    return code


def show(on: Console, text: str) -> None:
    """Write a four-slot message, its first sentence in red where there are colours."""
    first, *slots = text.splitlines()
    write(on, wrapped(on, prose(first, "bold red")))
    for line in slots:
        label, said = line[:12], line[12:]
        write(on, wrapped(on, prose(said), label, " " * 12))


def usage(error: click.ClickException, argv: Sequence[str] = ()) -> str:
    """Word a mistake in the command line; click's own sentence is kept where there is no better one."""
    context = getattr(error, "ctx", None)
    inner = f"layerwright {argv[0]}" if argv and argv[0].isidentifier() else "layerwright"
    command = context.command_path if context is not None else inner
    fix = f"see `{command} --help`."
    if isinstance(error, click.NoSuchOption):
        known = [name for p in context.command.get_params(context) for name in p.opts] if context is not None else []
        close = nearest(error.option_name, known, 1) if error.option_name.startswith("--") else []
        fix = f"write `{close[0]}`." if close else fix
        return four_slots(f"`{command}` has no option `{error.option_name}`.", fix=fix)
    if isinstance(error, click.MissingParameter) and error.param is not None:
        name = error.param.human_readable_name
        return four_slots(f"`{command}` needs a {name}.", expected=NEEDED.get(name), got="nothing", fix=fix)
    if isinstance(error, click.BadParameter) and error.param is not None:
        name = error.param.opts[0] if isinstance(error.param, click.Option) else error.param.human_readable_name
        return four_slots(
            f"The value of `{name}` can't be used.", expected=_values(error.param), got=_bare(error.message), fix=fix
        )
    sentence = QUOTED.sub(r"`\1`", error.format_message().splitlines()[0])
    return four_slots(sentence.rstrip(".") + ".", fix=fix)


def _values(parameter: click.Parameter) -> str | None:
    if isinstance(parameter.type, click.Choice):
        return ", ".join(map(str, parameter.type.choices))
    return "a number above 0" if isinstance(parameter.type, click.FloatRange) else None


def _bare(sentence: str) -> str:
    return sentence[:1].lower() + sentence[1:].rstrip(".")


def internal(error: Exception, argv: Sequence[str]) -> str:
    """Word a fault of layerwright itself; its traceback goes to a file."""
    trace = "".join(traceback.format_exception(error))
    return four_slots(
        "layerwright itself failed; this is not a fault of the code that was checked.",
        got=f"{type(error).__name__}: {error}".splitlines()[0],
        fix="report it to the developers of layerwright, with the file named below.",
        where=_kept(f"{' '.join(['layerwright', *argv])}\n{platform.platform()}, Python {sys.version}\n\n{trace}"),
    )


def _kept(text: str) -> str:
    try:
        file = Path(tempfile.mkdtemp(prefix="layerwright-")) / "traceback.txt"
        file.write_text(text, encoding="utf-8", errors="backslashreplace")
    except OSError:
        return text  # nowhere to write: the traceback itself is better than losing it
    return str(file)
