"""What importing layerwright costs: neither Keras nor a framework nor Numba."""

from __future__ import annotations

import ast
import importlib.util

import child
import pytest

pytestmark = pytest.mark.once

HEAVY = ("jax", "keras", "numba", "tensorflow", "torch")


def heavy_imports_of(code: str) -> list[str]:
    """Which of the heavy packages are imported once the code has run in a fresh process."""
    return ast.literal_eval(child.output(f"{code}\nimport sys\nprint(sorted(set(sys.modules) & {set(HEAVY)!r}))"))


@pytest.mark.parametrize(
    "code",
    [
        "import layerwright",
        "import layerwright; layerwright.Spec; layerwright.Report; layerwright.check; layerwright.example",
        "import layerwright.backends; layerwright.backends.installed()",
        "import layerwright.cli",
        "import layerwright.checks.processes.pool, layerwright.checks.targets",
    ],
)
def test_importing_layerwright_imports_nothing_heavy(code):
    assert heavy_imports_of(code) == []


@pytest.mark.parametrize("name", ["numba", "keras"])
def test_the_test_of_imports_sees_a_heavy_import(name):
    if importlib.util.find_spec(name) is None:
        pytest.skip(f"{name} isn't installed")
    assert name in heavy_imports_of(f"import layerwright\nimport {name}")


def test_the_test_of_imports_fails_where_the_code_fails():
    with pytest.raises(AssertionError, match="the child ended with status 1"):
        heavy_imports_of("import layerwright.no_such_module")
