"""Kernels inside of `jit_compile=True`: the handler that JAX calls serves the XLA in TensorFlow too.

TensorFlow's XLA can't compile ops from outside of it, but it runs modules of StableHLO (`XlaCallModule`), and these may
call handlers. Private: where `tf.function` keeps `jit_compile`, the wrapper of `XlaCallModule`, and the symbol that
gives XLA's table of functions. It is used where a version was tried, or a trial in a child process went well.
"""

from __future__ import annotations

import ctypes
import pathlib
import subprocess
import sys
import threading
from collections.abc import Sequence
from functools import cache
from types import FrameType
from typing import TYPE_CHECKING, Any

import tensorflow as tf

from layerwright.kernels import native
from layerwright.kernels.bridges import tensorflow_xla_frames as frames
from layerwright.kernels.bridges.jax_frames import CODES
from layerwright.kernels.bridges.tensorflow_stablehlo import module
from layerwright.kernels.bridges.tensorflow_variants import Variants
from layerwright.kernels.trampolines import entry

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

TRIED = ("2.18", "2.21")  # versions of TensorFlow
TABLE_OF_XLA = "_ZN3xla3ffi12GetXlaFfiApiEv"
REGISTER, MESSAGE_OF = 72, 56  # XLA_FFI_Api
MODULE_VERSION = 9  # of XlaCallModule
TRIAL = """
import tensorflow as tf
from layerwright.kernels import kernel
from layerwright.kernels.bridges import tensorflow_xla
tensorflow_xla.usable = lambda: True
@kernel
def doubled(x):
    return 2.0 * x
run = tf.function(doubled, jit_compile=True, input_signature=[tf.TensorSpec([None, None])])
assert float(tf.reduce_sum(run(tf.ones([2, 3])))) == 12.0
"""

_lock = threading.RLock()
_variants: dict[str, Variants] = {}  # by the names of handlers


class _Text(ctypes.Structure):
    _fields_ = (("start", ctypes.c_char_p), ("size", ctypes.c_size_t))


class _Registration(ctypes.Structure):  # XLA_FFI_Handler_Register_Args
    _fields_ = (
        *(("size", ctypes.c_size_t), ("extension", ctypes.c_size_t), ("name", _Text), ("platform", _Text)),
        *((stage, ctypes.c_size_t) for stage in ("instantiate", "prepare", "initialize", "execute")),
        ("traits", ctypes.c_uint32),
    )


class _Message(ctypes.Structure):  # XLA_FFI_Error_GetMessage_Args
    _fields_ = (
        *(("size", ctypes.c_size_t), ("extension", ctypes.c_size_t)),
        *(("error", ctypes.c_size_t), ("message", ctypes.c_char_p)),
    )


def wanted(inputs: Sequence[Any]) -> bool:
    """Whether what is being traced will be compiled by XLA, and kernels can be called from there."""
    return _compiling() and all(x.shape.rank is not None for x in inputs) and usable()


def _compiling() -> bool:
    """Whether a `tf.function` with `jit_compile=True` is being traced; only its frame on the stack tells."""
    frame: FrameType | None = sys._getframe()
    while frame is not None:
        owner = frame.f_locals.get("self")
        kind = type(owner)
        if kind.__name__ == "Function" and kind.__module__.startswith("tensorflow.") and _is_compiled(owner):
            return True
        frame = frame.f_back
    return False


def _is_compiled(function: Any) -> bool:
    return getattr(function, "_jit_compile", None) is True


@cache
def usable() -> bool:
    """Whether this TensorFlow runs handlers. On a GPU it would look for them there."""
    if tf.config.list_physical_devices("GPU"):
        return False
    return _complete() and (tried() or _trial())


@cache
def tried() -> bool:
    """Whether this is a version that the tests run on, and has what is needed."""
    return tf.__version__.rpartition(".")[0] in TRIED and _complete()


@cache
def _complete() -> bool:
    try:
        _table_of_xla()
        _wrapper()
    except (ImportError, AttributeError, OSError, ValueError):
        return False
    return True


def _trial() -> bool:
    try:
        done = subprocess.run(
            [sys.executable, "-c", TRIAL], stdin=subprocess.DEVNULL, capture_output=True, timeout=300, check=False
        )
    except (OSError, subprocess.TimeoutExpired):
        return False
    return done.returncode == 0


def run(kernel: Kernel, dtypes: tuple[str, ...], inputs: Sequence[Any]) -> list[Any]:
    """Call a kernel from what XLA compiles."""
    shapes = [tuple(x.shape) for x in inputs]
    results = kernel.shapes(shapes)
    handler = handler_of(kernel)
    _variants[handler].prepare(dtypes)  # so that errors of the compiler come from here
    text = module(kernel.signature, handler, dtypes, shapes, results)
    return list(
        _wrapper()(
            list(inputs),
            version=MODULE_VERSION,
            module=text,
            Sout=[list(shape) for shape in results],
            Tout=[tf.as_dtype(dtype) for dtype in dtypes[len(inputs) :]],
            platforms=["CPU"],
        )
    )


def _wrapper() -> Any:
    from tensorflow.compiler.tf2xla.ops import gen_xla_ops

    return gen_xla_ops.xla_call_module


@cache
def _table_of_xla() -> int:
    (path, *_) = sorted(pathlib.Path(tf.sysconfig.get_lib()).glob("libtensorflow_cc.so*"))
    function = getattr(ctypes.CDLL(str(path)), TABLE_OF_XLA)
    function.restype = ctypes.c_size_t
    return int(function())


def handler_of(kernel: Kernel) -> str:
    """The name under which XLA knows a kernel; registered once a process for everything that computes the same."""
    name = f"layerwright.{native.unique_name(kernel)}"
    with _lock:
        if name not in _variants:
            variants = Variants(kernel, CODES)
            _register(name.encode(), entry(frames.handler.address, 1, variants.address))
            _variants[name] = variants
    _variants[name].rebind(kernel)
    return name


def _register(name: bytes, address: int) -> None:
    told = _Registration(0, 0, _Text(name, len(name)), _Text(b"Host", 4), 0, 0, 0, address, 0)
    told.size = _Registration.traits.offset + 4
    error = _slot(REGISTER, ctypes.c_size_t)(ctypes.addressof(told))
    if error:
        said = _Message(ctypes.sizeof(_Message), 0, error, None)
        _slot(MESSAGE_OF, None)(ctypes.addressof(said))
        raise RuntimeError(said.message.decode())


def _slot(offset: int, result: Any) -> Any:
    address = ctypes.c_size_t.from_address(_table_of_xla() + offset).value
    return ctypes.CFUNCTYPE(result, ctypes.c_void_p)(address)
