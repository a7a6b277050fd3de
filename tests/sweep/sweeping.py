"""What the sweeps over `keras.layers` and `keras_rs.layers` have in common."""

from __future__ import annotations

import dataclasses
import inspect
import os
import zlib
from collections.abc import Mapping
from types import ModuleType
from typing import Any

import keras
import numpy as np
import pytest

import layerwright
from sweep.case import BACKENDS, Case, Cases, class_name


@dataclasses.dataclass(frozen=True)
class Expected:
    """An error or a warning that a sound check raises on a layer, why, and on which backends.

    Attributes:
        always: Whether it must be raised; not where random numbers decide (an overflow near the limit).
    """

    reason: str
    backends: tuple[str, ...] = BACKENDS
    always: bool = True


Expectations = Mapping[tuple[str, str], Expected]


def public_layers(namespace: ModuleType) -> dict[type, list[str]]:
    """Every Layer subclass of a namespace, with its public names: some have two."""
    names: dict[type, list[str]] = {}
    for name, value in inspect.getmembers(namespace, inspect.isclass):
        if issubclass(value, keras.layers.Layer):
            names.setdefault(value, []).append(name)
    return names


def version(text: str) -> tuple[int, ...]:
    """Major and minor version, to be compared."""
    return tuple(int(part) for part in text.split(".")[:2])


def parameters(cases: Cases, *, sparing: bool = False) -> list[Any]:
    """The cases for `pytest.mark.parametrize`, each marked with where it runs.

    Args:
        cases: The table.
        sparing: Whether a further case of a class runs on one backend only, its home, and the first case on all:
            the sweep under every rule takes minutes. `LAYERWRIGHT_SWEEP=all` in the environment lifts it.
    """
    sparing = sparing and os.environ.get("LAYERWRIGHT_SWEEP") != "all"
    return [
        pytest.param(name, case, marks=_where(name, case, sparing), id=name.replace(", ", "-").replace(" ", "_"))
        for name, case in cases.items()
    ]


def home(name: str, case: Case) -> str:
    """The backend that checks a further case of a class; the same one whatever else is in the table."""
    return case.backends[zlib.crc32(name.encode()) % len(case.backends)]


def _where(name: str, case: Case, sparing: bool) -> list[pytest.MarkDecorator]:
    further = name != class_name(name)
    too_old = version(keras.__version__) < version(case.since)
    return [
        pytest.mark.backend(*([home(name, case)] if sparing and further else case.backends)),
        pytest.mark.skipif(too_old, reason=f"needs Keras {case.since}"),
    ]


def not_in_the_table(namespace: ModuleType, cases: Cases, excluded: Mapping[str, str]) -> list[str]:
    """The classes of a namespace that are neither swept nor excluded."""
    known = {class_name(case) for case in cases} | set(excluded)
    return [names[0] for names in public_layers(namespace).values() if not known & set(names)]


def not_in_the_namespace(namespace: ModuleType, cases: Cases, excluded: Mapping[str, str]) -> list[str]:
    """Names in the table that this version of the library doesn't have, though it should."""
    known = {name for names in public_layers(namespace).values() for name in names}
    due = {class_name(n) for n, case in cases.items() if version(case.since) <= version(keras.__version__)}
    return sorted((due | set(excluded)) - known)


def unfit_values(case: Case) -> list[str]:
    """Call a case eagerly; what is wrong with its outputs: nothing, or numbers that aren't finite."""
    outputs = keras.tree.flatten(case.make()(*case.inputs, **case.kwargs))
    unfit = [] if outputs else ["there is no output"]
    for index, output in enumerate(outputs):
        if "string" in str(output.dtype):
            continue
        values = np.asarray(keras.ops.convert_to_numpy(output))
        if not np.isfinite(values).all():
            unfit.append(f"output {index} of shape {values.shape} isn't finite")
    return unfit


def expected_rules(name: str, backend: str, expected: Expectations) -> tuple[set[str], set[str]]:
    """The rules that must fail on a case here, and those that may."""
    here = {rule: e for (case, rule), e in expected.items() if case == name and backend in e.backends}
    return {rule for rule, entry in here.items() if entry.always}, set(here)


def sweep(name: str, case: Case, backend: str, expected: Expectations) -> None:
    """Check a case under every rule: errors and warnings are the expected ones, all of them, and no rule stumbles."""
    report = layerwright.check(case.make, *case.inputs, batched=case.batched, **case.kwargs)
    assert report.problem is None, str(report)
    stumbled = [f"{o.rule}: {o.reason}" for o in report.outcomes if (o.reason or "").startswith("the rule failed")]
    assert stumbled == [], "\n".join(stumbled)
    found = {f.rule for f in report.findings if f.severity != "note"}
    must, may = expected_rules(name, backend, expected)
    assert must <= found <= may, str(report)
