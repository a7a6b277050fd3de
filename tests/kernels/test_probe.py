"""Versions of frameworks that were never seen are tried in a process of their own, once."""

from __future__ import annotations

import json

import pytest

from layerwright import environment
from layerwright.kernels import native, probe


@pytest.fixture(autouse=True)
def own_cache(tmp_path, monkeypatch):
    monkeypatch.setenv("LAYERWRIGHT_CACHE", str(tmp_path))
    monkeypatch.delenv(probe.TRYING, raising=False)


def test_the_installed_version_is_one_that_needs_no_trial(backend):
    version = environment.version(backend)
    assert version.startswith(probe.TESTED[backend])


@pytest.mark.slow
def test_a_version_never_seen_is_tried_and_the_answer_is_kept(backend, tmp_path, monkeypatch):
    assert probe.works(backend, "99.1.0")
    (file,) = tmp_path.glob("trials-*.json")
    assert json.loads(file.read_text()) == {f"{backend} 99.1.0": True}
    monkeypatch.setattr(probe, "TRIAL", "raise SystemExit(1)")
    assert probe.works(backend, "99.1.0")
    assert not probe.works(backend, "99.2.0")


@pytest.mark.once
@pytest.mark.parametrize("code", ["import os; os.abort()", "print('nothing')", "raise ValueError"])
def test_a_trial_that_dies_or_fails_means_no(monkeypatch, code):
    monkeypatch.setattr(probe, "TRIAL", code)
    assert not probe.works("jax", "99.1.0")


@pytest.mark.once
def test_native_operations_can_be_switched_off_and_another_machine_is_told_once(monkeypatch):
    monkeypatch.setenv("LAYERWRIGHT_NATIVE", "0")
    assert not native.usable("jax")
    monkeypatch.delenv("LAYERWRIGHT_NATIVE")
    monkeypatch.setattr(native.platform, "machine", lambda: "riscv64")
    monkeypatch.setattr(native, "_told", set())
    with pytest.warns(RuntimeWarning, match="Kernels run through callbacks here, which are slower"):
        assert not native.usable("jax")
    assert not native.usable("jax")
