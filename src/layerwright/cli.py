"""The command `layerwright`: check, rules, explain."""

from __future__ import annotations

import io
import sys
import time
from collections.abc import Sequence
from typing import Any, NoReturn

import click

import layerwright
from layerwright.shell import Commands, Positive, status

CONTEXT = {"help_option_names": ["-h", "--help"], "max_content_width": 120}
TEXT_OR_JSON = click.Choice(["text", "json"])


@click.group(cls=Commands, context_settings=CONTEXT, invoke_without_command=True)
@click.version_option(layerwright.__version__, prog_name="layerwright")
@click.pass_context
def cli(context: click.Context) -> int:
    """Find what is wrong with custom Keras layers and models before they are trained."""
    if context.invoked_subcommand is None:
        click.echo(context.get_help(), err=True)
        return 2
    return 0


@cli.command()
@click.argument("target", nargs=-1, required=True)
@click.option(
    "--backend", multiple=True, metavar="NAME[,NAME]", help="tensorflow, jax, torch; one that is installed by default."
)
@click.option("--select", multiple=True, metavar="RULE[,RULE]", help="Run only these rules: names, codes or families.")
@click.option("--ignore", multiple=True, metavar="RULE[,RULE]", help="Leave these rules out.")
@click.option(
    "--inputs",
    multiple=True,
    metavar="SPEC",
    help='An input of the layers: "(None,32):float32"; once for each.',
)
@click.option("--strict", is_flag=True, help="Fail also for notes, and for what could not be built or fed.")
@click.option(
    "--format", "form", type=TEXT_OR_JSON, default="text", help="How the report is written.", show_default=True
)
@click.option("--json-report", metavar="FILE", help="Write the JSON report to this file as well.")
@click.option("--static", is_flag=True, help="Only read the sources: import and run nothing of them. Fewer rules.")
@click.option(
    "--timeout",
    type=Positive(),
    default=60.0,
    metavar="SECONDS",
    help="Time for one layer.",
    show_default=True,
)
@click.option(
    "--memory",
    type=Positive(),
    default=8.0,
    metavar="GIB",
    help="Memory of the worker.",
    show_default=True,
)
@click.option(
    "--notes", is_flag=True, help="Show also what is withheld: general advice, and symptoms of a fault that was found."
)
def check(
    target: tuple[str, ...],
    backend: tuple[str, ...],
    select: tuple[str, ...],
    ignore: tuple[str, ...],
    inputs: tuple[str, ...],
    strict: bool,
    form: str,
    json_report: str | None,
    static: bool,
    timeout: float,
    memory: float,
    notes: bool,
) -> int:
    """Check every layer and model in each TARGET.

    A TARGET is a .py file, a folder, a module or package, package.module:Name, or a .keras file. Their code is run, in
    processes of their own; --static only reads it. Exit status: 0 clean, 1 errors or warnings, 2 wrong usage.
    """
    from layerwright import environment, reading, session
    from layerwright.reports.summary import exit_code

    started = time.perf_counter()
    if json_report is not None:
        session.require_writable(json_report)
    rules = session.rules_of(select, ignore, static=static)
    targets = session.targets_of(target)
    names: list[str] = []
    if static:
        results = reading.read(targets, rules)
    else:
        from layerwright.checks.processes.limits import GIB, Limits

        environment.require_keras()
        names = session.backends_of(backend)
        limits = Limits(seconds=timeout, memory=int(memory * GIB))
        results = session.run(targets, names, rules, limits, _specs(inputs))
    seconds = time.perf_counter() - started
    document = _json(results, target, names, seconds, strict) if form == "json" or json_report else ""
    if form == "json":
        sys.stdout.write(document)
    else:
        from layerwright.reports import text
        from layerwright.reports.console import console

        text.show(console(sys.stdout), results.reports, seconds=seconds, notes=notes, loading=results.loading)
    if json_report is not None:
        session.write_report(json_report, document)
    return exit_code(results.reports, strict=strict)


def _specs(inputs: Sequence[str]) -> list[Any]:
    if not inputs:
        return []
    from layerwright.checks.subject_text import parse_spec

    return [parse_spec(text) for text in inputs]


def _json(results: Any, targets: Sequence[str], names: Sequence[str], seconds: float, strict: bool) -> str:
    from layerwright import environment
    from layerwright.reports import json

    document = json.document(
        results.reports,
        targets=targets,
        loading=results.loading,
        keras=environment.version("keras"),
        backends={name: environment.version(name) for name in names},
        seconds=seconds,
        strict=strict,
    )
    return json.dumps(document)


@cli.command()
@click.option("--format", "form", type=TEXT_OR_JSON, default="text", help="How the list is written.", show_default=True)
def rules(form: str) -> int:
    """List all rules: code, name, severity, family, whether --static runs it, and what is wrong."""
    from layerwright.checks import declared
    from layerwright.reports import catalogue
    from layerwright.reports.console import console

    known = list(declared.load().values())
    if form == "json":
        sys.stdout.write(catalogue.dumps(known))
    else:
        catalogue.show(console(sys.stdout), known)
    return 0


@cli.command()
@click.argument("rule")
def explain(rule: str) -> int:
    """Print the page of a RULE, given by its name or its code."""
    from layerwright.checks import declared
    from layerwright.checks.rule import find
    from layerwright.reports import catalogue
    from layerwright.reports.console import console

    catalogue.explain(console(sys.stdout), find(rule, declared.load()))
    return 0


def main(argv: Sequence[str] | None = None) -> NoReturn:
    """Run the command and end the process with its exit status."""
    given = list(sys.argv[1:] if argv is None else argv)
    for stream in (sys.stdout, sys.stderr):
        if isinstance(stream, io.TextIOWrapper):
            stream.reconfigure(errors="backslashreplace")  # no name of a user's can spoil the output
    sys.exit(status(cli, given))
