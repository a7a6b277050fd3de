"""Machine code of kernels on disk, for `cache=True`: a process that finds it compiles nothing.

The files lie in `LAYERWRIGHT_CACHE`, or in the user's cache folder. They are as Numba's own: made for one processor,
one Numba, one Python, and of whoever may write there. A file that can't be used is written anew.
"""

from __future__ import annotations

import contextlib
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

import layerwright

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def folder() -> Path:
    """Where the files lie."""
    base = os.environ.get("LAYERWRIGHT_CACHE")
    return Path(base) if base else Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "layerwright"


def load(kernel: Kernel, what: str, dtypes: Sequence[str]) -> Any:
    """What was stored about a kernel for these dtypes, or None."""
    path = _path(kernel, what, dtypes)
    if path is None:
        return None
    try:
        return pickle.loads(path.read_bytes())
    except (OSError, pickle.UnpicklingError, EOFError, AttributeError, ImportError, IndexError, ValueError):
        return None


def store(kernel: Kernel, what: str, dtypes: Sequence[str], value: Any) -> None:
    """Store something; a folder that can't be written keeps nothing."""
    path = _path(kernel, what, dtypes)
    if path is None:
        return
    with contextlib.suppress(OSError):
        path.parent.mkdir(parents=True, exist_ok=True)
        with tempfile.NamedTemporaryFile(dir=path.parent, delete=False) as file:
            file.write(pickle.dumps(value))
        os.replace(file.name, path)


def frozen(callback: Any, function: Any) -> tuple[Any, ...]:
    """The object code of a compiled callback, with the environments that its exceptions need."""
    environments = [compiled.environment for compiled in function.overloads.values()]
    return callback._library.serialize_using_object_code(), callback._wrapper_name, environments


def thawed(kept: tuple[Any, ...]) -> tuple[Any, int]:
    """The library of some object code, which must be kept, and the address of its callback."""
    code, name, environments = kept
    context = cpu_target.target_context
    codegen = context.codegen()
    library = codegen.unserialize_library(code)
    address = library.get_pointer_to_function(name)
    for environment in environments:
        # Those of other dtypes aren't in this code.
        if codegen._engine.get_global_value_address(environment.env_name):
            codegen.set_env(environment.env_name, environment)
    return (library, environments), int(address)


def _path(kernel: Kernel, what: str, dtypes: Sequence[str]) -> Path | None:
    if not kernel.options.cache or kernel.fingerprint is None:
        return None
    told = (
        what,
        kernel.fingerprint,
        kernel.name,
        str(kernel.signature) if what == "loop" else "",
        *dtypes,
        *_machine(),
    )
    return folder() / f"{kernel.name}-{hashlib.sha256(repr(told).encode()).hexdigest()[:24]}.{what}"


def _machine() -> tuple[str, ...]:
    features = llvm.get_host_cpu_features().flatten()
    versions = (numba.__version__, llvmlite.__version__, platform.python_version(), layerwright.__version__)
    return (*versions, platform.machine(), llvm.get_host_cpu_name(), features)
