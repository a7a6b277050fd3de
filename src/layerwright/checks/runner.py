"""Runs the rules on one subject, in this process, and leaves the process as it was."""

from __future__ import annotations

import contextlib
import os
import random
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager

import keras
import numpy as np

from layerwright.checks import allowed, engines, internals
from layerwright.checks.attempt import Failure, Skip, text_of
from layerwright.checks.lab import Elsewhere, Lab
from layerwright.checks.report import Finding, Outcome, Problem, Report, Status, rank
from layerwright.checks.rule import Rule, load
from layerwright.checks.sifting import sift, withheld
from layerwright.checks.source import read
from layerwright.checks.subject import Subject
from layerwright.errors import InputsError, LayerwrightError, SubjectError


def run(
    subject: Subject,
    rules: Sequence[Rule],
    allow: Mapping[str, str] | None = None,
    elsewhere: Elsewhere | None = None,
) -> Report:
    """Check one subject with these rules; what the user's code raises becomes part of the report.

    Args:
        subject: What to check.
        rules: Which rules to run, in their order.
        allow: Rules whose findings are intended, each with the reason.
        elsewhere: Loads the saved layer in another process; where it is left out, it is loaded in this one only.
    """
    started = time.perf_counter()
    with everything_kept():
        lab = Lab(subject, elsewhere)
        try:
            intended, remarks = _allowed(lab, allow or {})
            results = [_one(lab, rule, intended) for rule in rules]
            problem = _problem(lab)
            path, line = lab.place(None)
        finally:
            lab.close()
    raised = [finding for found, _ in results for finding in found]
    shown, hidden = sift(raised, {r.name: r for r in rules})
    return Report(
        subject.name,
        lab.backend,
        tuple(sorted(shown, key=lambda f: (rank(f.severity), f.line or 0, f.code))),
        tuple(hidden),
        tuple(withheld(outcome, shown) for _, outcome in results),
        None if _explained(problem, shown) else problem,
        (*subject.remarks, *remarks),
        path,
        line,
        time.perf_counter() - started,
    )


def _allowed(lab: Lab, allow: Mapping[str, str]) -> tuple[dict[str, str], list[str]]:
    """What the caller allows and what the subject's class allows in a comment on its line; what is wrong with that."""
    source = lab.components[0].source if lab.components else None
    file = read(source.path) if source is not None and source.path is not None else None
    if source is None or file is None or source.line is None:
        return dict(allow), []
    known = allowed.names([(r.name, r.code) for r in load().values()])
    said, remarks = allowed.said_on(file.lines[source.line - 1], known)
    return {**said, **allow}, remarks


def _one(lab: Lab, rule: Rule, allow: Mapping[str, str]) -> tuple[list[Finding], Outcome]:
    started = time.perf_counter()
    found: list[Finding] = []
    status: Status = "passed"
    reason: str | None = None
    if rule.backends and lab.backend not in rule.backends:
        status, reason = "skipped", f"shows on {', '.join(rule.backends)} only"
    elif rule.name in allow:
        status, reason = "skipped", f"allowed: {allow[rule.name]}"
    else:
        lab._rule = rule
        try:
            found = list(rule.check(lab))
        except Skip as skip:
            status, reason = "skipped", str(skip)
        except LayerwrightError:
            raise
        except (Exception, SystemExit) as error:
            # A rule that stumbles over the user's objects must not take the others with it; that it did is said.
            usable = lab.made.failure is None and lab.called.failure is None
            what = "the rule failed on this layer" if usable else "a layer that can't be called can't be asked"
            status, reason = "skipped", f"{what}: {type(error).__name__}: {text_of(error)}"
        finally:
            lab._rule = None
        status = "failed" if found else status
    return found, Outcome(rule.name, status, reason, time.perf_counter() - started)


def _problem(lab: Lab) -> Problem | None:
    made, called = lab.made.failure, lab.called.failure
    if made is not None:
        if isinstance(made.error, SubjectError):
            raise made.error
        return _describe("not-built", f"`{lab.subject.name}` can't be constructed", made)
    if called is not None:
        _refuse_inputs(lab, called)
        return _describe("call-failed", f"`{lab.subject.name}` can't be called with these inputs", called)
    return None


def _refuse_inputs(lab: Lab, failure: Failure) -> None:
    """Inputs that the layer's own `input_spec` refuses are the caller's mistake."""
    if failure.frames or not failure.mentions("is incompatible with the layer"):
        return
    shapes = ", ".join(f"{x.shape} {x.dtype}" for x in lab.feed.arrays)
    expected = failure.text.split("incompatible with the layer: ")[-1].split(". Full shape")[0]
    raise InputsError(
        f"`{lab.subject.name}` doesn't take inputs of this shape.",
        expected=expected,
        got=shapes,
        fix="give inputs as the layer takes them, batch first.",
    )


def _describe(kind: str, what: str, failure: Failure) -> Problem:
    at = failure.at
    return Problem(kind, f"{what}: {failure.summary}", None, at.path if at else None, at.line if at else None)


def _explained(problem: Problem | None, shown: list[Finding]) -> bool:
    """Whether a finding already says, at that very line, why the subject could not be called."""
    return problem is not None and any(
        f.severity == "error" and (f.path, f.line) == (problem.path, problem.line) for f in shown
    )


@contextmanager
def everything_kept() -> Iterator[None]:
    """Leave dtype policy, seeds, registries, name counters and random numbers as they were; the working folder too."""
    python, numpy, errors, folder = random.getstate(), np.random.get_state(), np.geterr(), os.getcwd()
    images, environment = keras.config.image_data_format(), dict(os.environ)
    try:
        with internals.tensorflow_kept_out(), internals.global_state_kept(), engines.current().kept():
            yield
    finally:
        random.setstate(python)
        np.random.set_state(numpy)
        np.seterr(**errors)
        keras.config.set_image_data_format(images)
        with contextlib.suppress(OSError):
            os.chdir(folder)
        if os.environ != environment:
            os.environ.clear()
            os.environ.update(environment)
