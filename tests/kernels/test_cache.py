"""`cache=True`, and what happens where the things around a kernel change."""

from __future__ import annotations

import inspect
import json
import os
import subprocess
import sys
from pathlib import Path

import numpy as np
import psutil
import pytest
from kernels.frameworks import array, tensor

import layerwright as lw
from layerwright.errors import KernelError
from layerwright.kernels import shared, source

KERNELS = """
import math
import numpy as np
import layerwright as lw
from numba import njit

@njit
def helper(a):
    return math.gamma(a) + math.erf(a)

@lw.kernel(cache=True)
def special(x):
    if x < 0.0:
        raise ValueError("below zero")
    return helper(x) + math.lgamma(x)

@lw.kernel("(n,n),(n)->(n)", cache=True, boundscheck=True)
def solved(a, b, out):
    x = np.linalg.solve(a, np.sort(b))
    for i in range(b.shape[0]):
        out[i] = x[i]
    if x[0] > 1.0:
        out[0] = b[b.shape[0]]
"""
USE = """
import json
import numpy as np
import kernels_of_a_user as user

said = []
for call in (
    lambda: user.special(np.array([2.5, 3.0])),
    lambda: user.solved(2 * np.eye(3), np.array([1.0, 0.5, 0.2])),
    lambda: user.special(np.array([-1.0])),
    lambda: user.solved(np.eye(2), np.array([3.0, 2.0])),
):
    try:
        said.append(call().tolist())
    except Exception as error:
        said.append(error.__notes__[0])
print(json.dumps([said, [len(k.compiled.overloads) for k in (user.special, user.solved)]]))
"""


def run(folder: Path) -> tuple[list[object], list[int]]:
    """What the kernels give in a process of its own, and how much that compiled."""
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(folder), *sys.path])}
    done = subprocess.run(
        [sys.executable, "-c", USE], env=environment, capture_output=True, text=True, check=False, cwd=folder
    )
    assert done.returncode == 0, done.stderr
    said, compiled = json.loads(done.stdout)
    return said, compiled


@pytest.mark.slow
@pytest.mark.once
def test_a_second_process_compiles_nothing_and_gives_the_same(tmp_path, monkeypatch):
    file = tmp_path / "kernels_of_a_user.py"
    file.write_text(KERNELS)
    monkeypatch.setenv("LAYERWRIGHT_CACHE", str(tmp_path / "kept"))
    first, compiled = run(tmp_path)
    assert all(compiled)
    assert first[1] == [0.1, 0.25, 0.5]
    assert first[2] == f"`special` raised ValueError: below zero\n  Where:    {file}:14"
    assert first[3] == (
        f"`solved` raised IndexError: index 2 is out of bounds for axis 0 with size 2\n  Where:    {file}:23"
    )
    again, compiled = run(tmp_path)
    assert again == first
    assert compiled == [0, 0]

    # One line more above: the code is the same, the places aren't.
    file.write_text("\n" + KERNELS)
    moved, _ = run(tmp_path)
    assert moved[:2] == first[:2]
    assert moved[2] == first[2].replace(":14", ":15")

    # What is broken or can't be read is made again.
    for kept in (tmp_path / "kept").iterdir():
        kept.write_bytes(b"broken")
    assert run(tmp_path)[0] == moved
    for kept in (tmp_path / "kept").iterdir():  # a whole file with damaged code would end the process
        data = kept.read_bytes()
        kept.write_bytes(data[: len(data) // 2] + b"?" * 64 + data[len(data) // 2 + 64 :])
    assert run(tmp_path)[0] == moved


@pytest.mark.once
def test_our_own_machine_code_is_kept_by_the_text_of_all_its_files(tmp_path, monkeypatch):
    folder = Path(inspect.getfile(shared)).parent
    monkeypatch.setattr(shared, "__file__", str(tmp_path / "shared.py"))
    shared._text.cache_clear()
    assert shared._text() == ""
    for file in ("runtime.py", "machine.py"):
        (tmp_path / file).write_bytes((folder / file).read_bytes())
    shared._text.cache_clear()
    before = shared._text()
    (tmp_path / "machine.py").write_text((folder / "machine.py").read_text() + "\n# another\n")
    shared._text.cache_clear()
    assert len(before) == 64
    assert shared._text() != before
    shared._text.cache_clear()


FACTOR = 2.0


def test_what_a_kernel_reads_may_change_until_its_first_call(monkeypatch):
    @lw.kernel
    def scaled(x):
        return FACTOR * x

    first = scaled.fingerprint
    monkeypatch.setitem(globals(), "FACTOR", 3.0)
    x = tensor(np.ones(2, "float32"))
    np.testing.assert_array_equal(array(scaled(x)), [3.0, 3.0])
    assert scaled.fingerprint != first

    monkeypatch.setitem(globals(), "FACTOR", 4.0)
    np.testing.assert_array_equal(array(scaled(x)), [3.0, 3.0])
    with pytest.raises(KernelError) as error:
        scaled(tensor(np.ones(2, "int32")))
    assert str(error.value) == (
        "`FACTOR`, which `scaled` reads, has changed since `scaled` was first called.\n"
        "  Expected: the same value for every call\n"
        "  Got:      another\n"
        "  Fix:      pass `FACTOR` as an input, or define the kernel again after the change.\n"
        f"  Where:    {scaled.place}"
    )


def solve(_x):
    """Has the name of an attribute that a kernel reads."""


@pytest.mark.once
def test_names_of_attributes_are_no_names_of_the_module():
    def kernel(a, b, out):
        out[:] = np.linalg.solve(a, b)

    assert list(source.surroundings(kernel)) == ["np"]
    assert source.fingerprint(kernel) is not None


@pytest.mark.once
def test_functions_inside_of_a_function_are_part_of_it():
    def of(step):
        def kernel(x, out):
            out[0] = sum([FACTOR * v for v in x]) if step else sum([FACTOR + v for v in x])

        def other(x, out):
            out[0] = sum([FACTOR - v for v in x]) if step else sum([FACTOR + v for v in x])

        return kernel, other

    first, second = of(True)
    assert list(source.surroundings(first)) == ["FACTOR", "step"]
    assert source.fingerprint(first) == source.fingerprint(of(True)[0])
    assert source.fingerprint(first) != source.fingerprint(of(False)[0])
    assert source.fingerprint(first) != source.fingerprint(second)


def test_a_thousand_kernels(backend):
    if backend == "tensorflow":
        import tensorflow  # noqa: F401 - it knows a kernel from its definition on

    def make(n: int) -> lw.kernels.Kernel:
        space: dict[str, object] = {}
        exec(f"def kernel{n}(x):\n    return x * {n}.0 + 1.0\n", space)
        return lw.kernel(space[f"kernel{n}"])

    make(5000)(tensor(np.ones(2, "float32")))
    process = psutil.Process()
    before = process.memory_info().rss
    kernels = [make(n) for n in range(1000)]
    assert process.memory_info().rss - before < 100 << 20
    assert len({kernel.fingerprint for kernel in kernels}) == 1000
    for n in (0, 500, 999):
        x = tensor(np.full(2, 2.0, "float32"))
        np.testing.assert_array_equal(array(kernels[n](x)), np.full(2, 2.0 * n + 1.0))
    # The same kernel a thousand times, as a cell of a notebook that is run again, is one operation.
    again = [make(7) for _ in range(1000)]
    assert {kernel.fingerprint for kernel in again} == {kernels[7].fingerprint}
    np.testing.assert_array_equal(array(again[-1](tensor(np.ones(1, "float32")))), [8.0])
