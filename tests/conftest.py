"""How the suite runs: once on each backend, each in its own process, chosen by `KERAS_BACKEND`.

Most tests run on every backend. Those that need no framework in their own process are marked `once`, and `make test`
runs them on the first backend only; a test for some backends is marked `backend("jax", ...)`; one that takes more than
a few seconds is marked `slow`, and `make test-fast` leaves it out.
"""

from __future__ import annotations

import os
import sys
import tempfile
from collections.abc import Iterator

import pytest
from hypothesis import HealthCheck, settings

from layerwright import backends

# Before Keras is imported: it reads them once. A developer's own Keras settings must not decide a test.
os.environ["KERAS_BACKEND"] = backends.choose()
os.environ["KERAS_HOME"] = tempfile.mkdtemp(prefix="layerwright-tests-")
os.environ.setdefault("TF_CPP_MIN_LOG_LEVEL", "3")
if "PYTEST_XDIST_WORKER" not in os.environ:
    # What JAX compiles for one process of the session is there for all the others.
    _COMPILED = tempfile.TemporaryDirectory(prefix="layerwright-tests-jax-", ignore_cleanup_errors=True)
    os.environ["JAX_COMPILATION_CACHE_DIR"] = _COMPILED.name
    os.environ["JAX_PERSISTENT_CACHE_MIN_COMPILE_TIME_SECS"] = "0"


# How long something takes depends on what else runs on the machine.
settings.register_profile("suite", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.load_profile("suite")


def pytest_report_header() -> str:
    return f"keras backend: {os.environ['KERAS_BACKEND']}"


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    running = os.environ["KERAS_BACKEND"]
    for item in items:
        for mark in item.iter_markers("backend"):
            if unknown := set(mark.args) - set(backends.BACKENDS):
                raise pytest.UsageError(f"{item.nodeid}: unknown backends in its marker: {sorted(unknown)}")
            if running not in mark.args:
                item.add_marker(pytest.mark.skip(reason=f"only on {', '.join(mark.args)}"))
    # The longest first: a minute's test that comes last is waited for by all the other workers.
    items.sort(key=lambda item: item.get_closest_marker("slow") is None)


@pytest.fixture(scope="session")
def backend() -> str:
    """The backend of this process."""
    return os.environ["KERAS_BACKEND"]


@pytest.fixture(autouse=True)
def keras_as_new() -> Iterator[None]:
    """Seeds before every test, and the dtype policy and float type as they were after it; never imports Keras."""
    keras = sys.modules.get("keras")
    if keras is None or not hasattr(keras, "utils"):
        yield
        return
    keras.utils.set_random_seed(7)
    policy, floatx = keras.config.dtype_policy(), keras.config.floatx()
    yield
    keras.config.set_dtype_policy(policy)
    keras.config.set_floatx(floatx)
