"""Kernels as ops of TensorFlow: eager, `tf.function`, `tf.data`, `GradientTape`, SavedModel."""

from __future__ import annotations

import threading
import warnings
from collections.abc import Callable, Sequence
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import numpy as np
import tensorflow as tf

from layerwright.errors import GradientError
from layerwright.kernels import native
from layerwright.kernels.bridges import numpy as host
from layerwright.kernels.bridges import tensorflow_gradients as gradients
from layerwright.kernels.dtypes import WEAK

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel

Operation = Callable[..., tuple[Any, ...]]
DERIVED = "derived"
_lock = threading.RLock()
_operations: dict[tuple[int, tuple[str, ...]], tuple[Kernel, Operation]] = {}


def call(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    """Call a kernel with tensors of TensorFlow, eager or symbolic."""
    tensors = [x if type(x) in WEAK or isinstance(x, tf.Tensor) else tf.convert_to_tensor(x) for x in values]
    given = tuple(type(x) if type(x) in WEAK else x.dtype.name for x in tensors)
    plan = kernel.plan(given)
    if given != plan.loop[: len(given)]:
        tensors = [
            _cast(tf.constant(x, wanted) if type(x) in WEAK else _cast(x, wanted), computed)
            for x, wanted, computed in zip(tensors, plan.inputs, plan.loop, strict=False)
        ]
    outputs = operation(kernel, plan.loop)(*tensors)
    return [_cast(y, dtype) for y, dtype in zip(outputs, plan.outputs, strict=True)]


def operation(kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    """A kernel for some loop dtypes as a differentiable function of TensorFlow."""
    found = _operations.get((id(kernel), dtypes))
    if found is None:
        with _lock:
            make = _native_operation if _native() else _host_operation
            found = _operations.setdefault((id(kernel), dtypes), (kernel, make(kernel, dtypes)))
    return found[1]


def register(*kernels: Kernel) -> None:
    """Make TensorFlow know the ops of kernels, which a SavedModel may hold."""
    if _native():
        for kernel in kernels:
            _ops().op_of(kernel, _gradient)


def _cast(x: Any, dtype: str) -> Any:
    return x if x.dtype.name == dtype else tf.cast(x, dtype)


@cache
def _native() -> bool:
    """Whether this TensorFlow has everything that native ops need."""
    if not native.usable("tensorflow"):
        return False
    try:
        _ops()
    except (ImportError, AttributeError, ValueError, OSError) as error:
        warnings.warn(
            f"Kernels run as callbacks into Python: TensorFlow {tf.__version__} lacks what native ops need ({error}).",
            RuntimeWarning,
            stacklevel=2,
        )
        return False
    return True


def _ops() -> Any:
    from layerwright.kernels.bridges import tensorflow_ops

    return tensorflow_ops


def _native_operation(kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    ops = _ops()
    op = ops.op_of(kernel, _gradient)
    ops.prepare(op, dtypes)
    outputs = [tf.as_dtype(dtype) for dtype in dtypes[len(kernel.arguments) :]]
    from layerwright.kernels.bridges import tensorflow_xla as xla

    compiled = _differentiable(kernel, partial(xla.run, kernel, dtypes))
    name = op.rpartition(">")[2].rpartition("_")[0]

    def run(*inputs: Any) -> tuple[Any, ...]:
        if not tf.executing_eagerly() and xla.wanted(inputs):
            return compiled(*inputs)
        gradient = _gradient_of(kernel)
        try:
            return tuple(ops.apply(op, name, inputs, outputs, gradient))
        except (ValueError, tf.errors.InvalidArgumentError) as error:
            trouble = error
        if _ranks_known(inputs):
            kernel.shapes([x.shape for x in inputs])  # says more, where shapes are the reason
        raise trouble

    return run


def _gradient_of(kernel: Kernel) -> str:
    """What an op knows of its gradient: the op of one by hand, that it is derived when it is asked for, or nothing."""
    if not kernel.has_gradient:
        return ""
    return DERIVED if kernel.gradient is None else str(_ops().op_of(kernel.gradient, _gradient))


def _ranks_known(inputs: Sequence[Any]) -> bool:
    return all(x.shape.rank is not None for x in inputs)


def _gradient(node: Any, *cotangents: Any) -> list[Any]:
    """The gradient of the op of any kernel; TensorFlow calls it, also for a graph that was loaded."""
    ops = _ops()
    kernel, said = ops.kernel_of(node.type), node.get_attr("gradient")
    op = said.decode() if isinstance(said, bytes) else said
    if not op:
        raise kernel.no_gradient()
    if op == DERIVED:
        derived = kernel.derivative([x.dtype.name for x in (*node.inputs, *node.outputs)])
    else:
        derived = ops.kernel_of(op)
    if derived is None:
        raise GradientError(
            f"The gradient of `{kernel.name}` that this graph was made with isn't there.",
            expected=f"the kernel behind the op {op}",
            got="another one, or none",
            fix="import the module in which it is defined as it was when the graph was saved.",
            where=kernel.place,
        )
    return gradients.of(kernel, derived, operation, node.inputs, node.outputs, cotangents)


def _host_operation(kernel: Kernel, dtypes: tuple[str, ...]) -> Operation:
    """A kernel as a callback into Python, where native ops aren't allowed."""
    results = [tf.as_dtype(dtype) for dtype in dtypes[len(kernel.arguments) :]]

    def on_host(*arrays: np.ndarray) -> list[np.ndarray]:
        return host.compute(kernel, dtypes, arrays)

    def run(inputs: Sequence[Any]) -> Sequence[Any]:
        outputs = tf.numpy_function(on_host, inputs, results, stateful=False)
        outputs = outputs if isinstance(outputs, list | tuple) else [outputs]  # eager, one output comes without a list
        if _ranks_known(inputs):
            for y, shape in zip(outputs, kernel.shapes([x.shape for x in inputs]), strict=True):
                y.set_shape(shape)
        return outputs

    return _differentiable(kernel, run)


def _differentiable(kernel: Kernel, forward: Callable[[Sequence[Any]], Sequence[Any]]) -> Operation:
    """A way to run a kernel that TensorFlow knows no gradient of, with the kernel's."""

    @tf.custom_gradient
    def run(*inputs: Any) -> Any:
        outputs = forward(inputs)

        def backward(*cotangents: Any) -> list[Any]:
            derived = kernel.derivative([x.dtype.name for x in (*inputs, *outputs)])
            return gradients.of(kernel, derived, operation, inputs, outputs, cotangents)

        return tuple(outputs), backward

    return run


register(*native.known())  # those that were defined before TensorFlow was imported
