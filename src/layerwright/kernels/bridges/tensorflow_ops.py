"""Kernels as ops of TensorFlow: one op each, for all dtypes; what is known of it is made when a node needs it.

An op has a list of inputs, one of outputs, and the name of its gradient as an attribute: a kernel and another of the
same code but with another gradient are one op.
"""

from __future__ import annotations

import ctypes
import re
import threading
import uuid
from collections.abc import Callable, Sequence
from typing import TYPE_CHECKING, Any

import tensorflow as tf
from tensorflow.python import pywrap_tfe
from tensorflow.python.eager import context, core, execute
from tensorflow.python.framework import op_def_library, op_def_registry, ops

from layerwright.errors import four_slots
from layerwright.kernels import descriptor, native
from layerwright.kernels.bridges import tensorflow_frames as frames
from layerwright.kernels.bridges import tensorflow_library as library
from layerwright.kernels.bridges import tensorflow_shapes as shapes
from layerwright.kernels.bridges import tensorflow_vectorized as vectorized
from layerwright.kernels.bridges import tensorflow_xla as xla
from layerwright.kernels.bridges.tensorflow_variants import Variants
from layerwright.kernels.signature import Signature
from layerwright.kernels.trampolines import entries

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

_TYPES = "list({float, double, int8, int16, int32, int64, uint8, uint16, uint32, uint64, bool})"
_ATTRIBUTES = (f"Tin: {_TYPES} >= 0", f"Tout: {_TYPES} >= 1", "gradient: string = ''")
_XLA_DEVICES = ("XLA_CPU_JIT", "XLA_GPU_JIT")
_lock = threading.RLock()
_marked: dict[str, str] = {}  # ops, by the unique names of kernels
_by_op: dict[str, Kernel] = {}
_variants: dict[str, Variants] = {}  # by op
_kept: list[Any] = []


def op_of(kernel: Kernel, gradient: Callable[..., Any]) -> str:
    """The name of a kernel's op, which is registered once a process for everything that computes the same.

    Args:
        kernel: The kernel.
        gradient: What TensorFlow calls for its gradient.
    """
    unique = native.unique_name(kernel)
    known = _marked.get(unique)
    if known is None:
        with _lock:
            if unique not in _marked:
                _marked[unique] = _register(kernel, _op_name(unique), gradient)
            known = _marked[unique]
    if _by_op[known] is not kernel and native.unique_name(_by_op[known]) != unique:
        _variants[known].rebind(kernel)
        _by_op[known] = kernel
    return known


def kernel_of(op: str) -> Kernel | None:
    """The kernel whose op has this name; the first one, where several compute the same."""
    return _by_op.get(op)


def prepare(op: str, dtypes: tuple[str, ...]) -> None:
    """Compile the kernel of an op for loop dtypes, so that errors of the compiler come from the call."""
    _variants[op].prepare(dtypes)


def _op_name(unique: str) -> str:
    """A name that TensorFlow takes: words with capitals, then the mark."""
    said, _, mark = unique.rpartition(".")
    words = re.findall(r"[A-Za-z0-9]+", said)
    return f"Layerwright>{''.join(word[:1].upper() + word[1:] for word in words) or 'K'}_{mark}".replace(">_", ">K_")


def _register(kernel: Kernel, name: str, gradient: Callable[..., Any]) -> str:
    if op_def_registry.get(name) is not None:  # by another copy of this module: registering it again would abort
        name = f"{name}_{uuid.uuid4().hex[:8]}"
    variants = Variants(kernel, library.CODES, _outline(kernel), _refusal(kernel))
    shared = [(frames.create.address, 1), (frames.refuse.address, 1), (shapes.infer.address, 2)]
    create, refuse, infer = entries(shared, variants.address)
    library.define_op(name, _ATTRIBUTES, infer)
    library.define_kernel(name, "CPU", create, frames.compute.address)
    for device in _XLA_DEVICES:
        library.define_kernel(name, device, refuse, frames.compute.address)
    tf.RegisterGradient(name)(gradient)
    if xla.tried():  # a graph that is loaded may call the handler before anything else does
        xla.handler_of(kernel)
    vectorized.register(kernel, name, apply)
    _variants[name], _by_op[name] = variants, kernel
    return name


def _refusal(kernel: Kernel) -> int:
    """The address of what is said where XLA should compile the kernel."""
    said = four_slots(
        f"`{kernel.name}` is machine code, which XLA can't compile in TensorFlow.",
        expected="jit_compile=False",
        got="jit_compile=True",
        fix="write `model.compile(..., jit_compile=False)`, or `tf.function` without `jit_compile`.",
        where=kernel.place,
    )
    text = ctypes.create_string_buffer(said.encode())
    _kept.append(text)
    return ctypes.addressof(text)


def _outline(kernel: Kernel) -> int:
    """A table without a loop. How many outputs an elementwise kernel has isn't asked, since it would be compiled."""
    if kernel.elementwise:
        signature, results = Signature(((),) * len(kernel.arguments), ((),)), ["output"]
    else:
        signature, results = kernel.signature, kernel.results
    arguments = [*kernel.arguments, *results]
    return descriptor.describe(
        0,
        signature,
        ["float32"] * len(arguments),
        name=kernel.name,
        arguments=arguments,
        codes=[0] * len(arguments),
        elementwise=kernel.elementwise,
        threads=0,
        worker=0,
        aliases=[descriptor.NOBODY] * len(signature.outputs),
    )


def apply(op: str, name: str, inputs: Sequence[Any], outputs: Sequence[Any], gradient: str) -> list[Any]:
    """Run an op, or add it to the graph that is being made: what the wrapper that TensorFlow generates does."""
    ctx = context.context()
    if ctx.executing_eagerly():
        try:
            return pywrap_tfe.TFE_Py_FastPathExecute(ctx, op, None, list(inputs), "Tout", outputs, "gradient", gradient)
        except core._NotOkStatusException as error:
            ops.raise_from_not_ok_status(error, None)
    with tf.xla.experimental.jit_scope(compile_ops=False):  # automatic clusters are to leave it out
        _, _, node, results = op_def_library._apply_op_helper(
            op, name=name, inputs=list(inputs), Tout=outputs, gradient=gradient
        )
    if execute.must_record_gradient():
        attributes = ("Tin", node.get_attr("Tin"), "Tout", outputs, "gradient", gradient)
        execute.record_gradient(op, node.inputs, attributes, results)
    return list(results)
