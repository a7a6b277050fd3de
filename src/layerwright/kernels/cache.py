"""Machine code on disk, ours and that of kernels with `cache=True`: a process that finds it compiles nothing.

The files lie in `LAYERWRIGHT_CACHE`, or in the user's cache folder. They are as Numba's own: made for one processor,
one Numba, one Python, and of whoever may write there. A file that can't be used is written anew.
"""

from __future__ import annotations

import contextlib
import functools
import hashlib
import os
import pickle
import platform
import tempfile
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import llvmlite
import llvmlite.binding as llvm
import numba
from numba.core.registry import cpu_target
from numba.core.runtime import rtsys

import layerwright

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def folder() -> Path:
    """Where the files lie."""
    base = os.environ.get("LAYERWRIGHT_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "layerwright"


def path_of(name: str, what: str, told: Sequence[str]) -> Path:
    """The file for something that was compiled: its name tells what it is made of and for which machine."""
    return folder() / f"{name}-{hashlib.sha256(repr((*told, *_machine())).encode()).hexdigest()[:24]}.{what}"


def path_of_kernel(kernel: Kernel, what: str, dtypes: Sequence[str]) -> Path | None:
    """The file for something about a kernel and these dtypes; None where nothing is kept."""
    if not kernel.options.cache or kernel.fingerprint is None:
        return None
    signature = str(kernel.signature) if what == "loop" else ""
    return path_of(kernel.name, what, (what, kernel.fingerprint, kernel.name, *_lines(kernel), signature, *dtypes))


def _lines(kernel: Kernel) -> tuple[str, str]:
    """Where the function's lines are: its exceptions say them."""
    return kernel.place, hashlib.sha256(kernel.function.__code__.co_linetable).hexdigest()


def load(path: Path | None) -> Any:
    """What was stored, or None."""
    if path is None:
        return None
    try:
        digest, _, data = path.read_bytes().partition(b"\n")
        # Code that is damaged would end the process.
        if digest != hashlib.sha256(data).hexdigest().encode():
            return None
        return pickle.loads(data)
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError):
        return None


def store(path: Path | None, value: Any) -> None:
    """Store something; a folder that can't be written keeps nothing."""
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            data = pickle.dumps(value)
            file.write(hashlib.sha256(data).hexdigest().encode() + b"\n" + data)
        os.replace(file.name, path)


def frozen(library: Any, name: str, function: Any = None) -> tuple[Any, ...]:
    """The object code of a function of a library, with the environments that the exceptions of another need."""
    environments = [compiled.environment for compiled in function.overloads.values()] if function is not None else []
    return library.serialize_using_object_code(), name, environments


def thawed(kept: tuple[Any, ...]) -> tuple[Any, int]:
    """The library of some object code, which must be kept, and the address of its function."""
    code, name, environments = kept
    context = cpu_target.target_context
    rtsys.initialize(context)  # its symbols may be in the code: one that isn't there ends the process
    codegen = context.codegen()
    library = codegen.unserialize_library(code)
    address = library.get_pointer_to_function(name)
    for environment in environments:
        # Those of other dtypes aren't in this code.
        if codegen._engine.get_global_value_address(environment.env_name):
            codegen.set_env(environment.env_name, environment)
    if address == 0:
        raise ValueError("the code doesn't hold its function")
    return (library, environments), int(address)


@functools.cache
def _machine() -> tuple[str, ...]:
    features = llvm.get_host_cpu_features().flatten()
    versions = (numba.__version__, llvmlite.__version__, platform.python_version(), layerwright.__version__)
    return (*versions, platform.machine(), llvm.get_host_cpu_name(), features)
