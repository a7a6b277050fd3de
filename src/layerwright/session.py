"""One run of `layerwright check`: its targets, rules and backends, and the reports of all of them."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import TYPE_CHECKING

from layerwright import backends
from layerwright.checks.report import Report
from layerwright.errors import InputsError, RuleError, TargetError
from layerwright.reports.progress import Bar

if TYPE_CHECKING:
    from layerwright.checks.processes.pool import Event, Limits
    from layerwright.checks.rule import Rule
    from layerwright.checks.subject import Spec
    from layerwright.checks.targets import Target


@dataclasses.dataclass
class Results:
    """What a run brought.

    Attributes:
        reports: One for each subject and backend.
        loading: What was said about the loading of each target.
    """

    reports: list[Report] = dataclasses.field(default_factory=list)
    loading: dict[str, tuple[str, ...]] = dataclasses.field(default_factory=dict)


def words(values: Sequence[str]) -> list[str]:
    """The comma-separated words of a repeatable option, each once."""
    return list(dict.fromkeys(word.strip() for value in values for word in value.split(",") if word.strip()))


def backends_of(values: Sequence[str]) -> list[str]:
    """The backends to run on, in order; one that is installed where none is named.

    Raises:
        BackendError: Where one is unknown or not installed.
    """
    named = [str(backends.choose(name)) for name in words(values)]
    return named or [backends.choose()]


def rules_of(select: Sequence[str], ignore: Sequence[str], *, static: bool) -> list[Rule]:
    """The rules to run.

    Raises:
        RuleError: Where one is unknown, or none is left.
    """
    from layerwright.checks import declared, rule

    chosen = rule.select(words(select) or None, words(ignore), declared.load())
    left = [one for one in chosen if one.static or not static]
    if not left:
        raise RuleError(
            "None of these rules can be run without importing the file." if chosen else "No rule is left to run.",
            got=f"--select {','.join(words(select)) or '(all)'} --ignore {','.join(words(ignore)) or '(none)'}",
            fix="leave out --static, or select other rules." if chosen else "ignore fewer rules.",
        )
    return left


def require_writable(file: str) -> None:
    """Refuse a report's file that can't be written, before the checks take their time; source and models are spared.

    Raises:
        TargetError: Where it can't, or mustn't.
    """
    path = Path(file)
    if path.suffix in (".py", ".keras", ".ipynb"):
        raise TargetError(
            f"The report would be written over `{file}`.",
            expected="a file of its own, such as report.json",
            got=f"a {path.suffix} file",
            fix="name another file.",
        )
    try:
        there = path.exists()
        with path.open("a"):
            pass
        if not there:
            path.unlink()
    except OSError as error:
        raise TargetError(
            f"The report can't be written to `{file}`.",
            expected="a file in a folder that is there",
            got=error.strerror or str(error),
            fix="make the folder, or name another file.",
        ) from None


def write_report(file: str, document: str) -> None:
    """Write the JSON report.

    Raises:
        TargetError: Where that fails, for want of room say.
    """
    try:
        Path(file).write_text(document, encoding="ascii")
    except OSError as error:
        raise TargetError(f"The report can't be written to `{file}`.", got=error.strerror or str(error)) from None


def targets_of(given: Sequence[str]) -> list[Target]:
    """The targets that the words of the command line mean.

    Raises:
        TargetError: Where one means nothing that can be checked.
        SourceError: Where a file isn't Python.
    """
    from layerwright.checks import targets

    found: list[Target] = []
    for word in given:
        try:
            meant = targets.expand([word])
            _require_python(word, meant)
        except OSError as error:
            raise TargetError(f"`{word}` can't be read.", got=error.strerror or str(error), where=word) from None
        found.extend(target for target in meant if target not in found)
    return found


def _require_python(word: str, meant: Sequence[Target]) -> None:
    """Refuse a file that was named and can't be parsed; one that lies in a folder has an outcome of its own."""
    from layerwright.checks.scan import read_tree

    if not Path(word).is_dir():
        for target in meant:
            if target.kind == "file":
                read_tree(Path(target.location))


def run(
    targets: Sequence[Target],
    names: Sequence[str],
    rules: Sequence[Rule],
    limits: Limits,
    inputs: Sequence[Spec] = (),
) -> Results:
    """Check the targets in worker processes, on one backend after another."""
    from layerwright.checks.processes.pool import Pool

    results = Results()
    with Bar() as bar:

        def follow(event: Event) -> None:
            if event.kind == "announced":
                results.loading[str(event.target)] = event.remarks
                bar.found(event.total, shown(event.target))
            elif event.kind == "checking":
                bar.started(event.subject or shown(event.target))
            elif event.kind == "covered":
                bar.finished()
            else:
                bar.loading(shown(event.target))

        for name in names:
            bar.backend(name)
            pool = Pool(name, limits, [rule.name for rule in rules], inputs=inputs)
            reports = pool.run(targets, follow)
            # Closed at once where the loop is left, by Ctrl-C say: that ends the worker which is running.
            with pool, closing(reports):
                for report in reports:
                    results.reports.append(report)
                    bar.finished()
    return _taken(some(results, targets))


def _taken(results: Results) -> Results:
    """The results, where at least one subject takes the inputs of the command line.

    Raises:
        InputsError: Where none does.
    """
    refused = [report.problem for report in results.reports if report.problem is not None]
    if len(refused) == len(results.reports) and all(problem.kind == "inputs-refused" for problem in refused):
        one = refused[0]
        raise InputsError(
            "No layer takes these inputs." if len(refused) > 1 else "The layer doesn't take these inputs.",
            got=one.message,
            fix=one.help,
            where=one.where,
        )
    return results


def shown(target: Target) -> str:
    """A target as the progress bar calls it."""
    return target.location if target.kind == "module" else Path(target.location).name


def some(results: Results, targets: Sequence[Target]) -> Results:
    """The results, where there are any.

    Raises:
        TargetError: Where no target holds anything to check.
    """
    if not results.reports:
        names = " and ".join(f"`{shown(target)}`" for target in targets[:3])
        raise TargetError(
            f"Nothing in {names} can be checked.",
            expected="a class that derives from keras.layers.Layer or keras.Model, or a function with `@lw.example`",
            got="none",
            fix="name the file or module that defines the layer.",
        )
    return results
