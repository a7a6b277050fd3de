"""Kernels on KerasTensors: a node of a functional model, whose shapes and dtypes follow from the signature."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import keras
import numpy as np

from layerwright.errors import KernelError, nearest
from layerwright.kernels.dtypes import WEAK

if TYPE_CHECKING:
    from layerwright.kernels.kernel import Kernel


def call(kernel: Kernel, values: Sequence[Any]) -> list[Any]:
    """Call a kernel where at least one argument is a KerasTensor."""
    outputs = KernelOperation(kernel)(*values)
    return list(outputs) if isinstance(outputs, list | tuple) else [outputs]


@keras.saving.register_keras_serializable(package="layerwright")
class KernelOperation(keras.Operation):
    """A kernel in a functional model; saved by the kernel's name, and found again once its module is imported.

    Args:
        kernel: The kernel, or where it is defined: `module:name`.
    """

    def __init__(self, kernel: Kernel | str, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.kernel = find(kernel) if isinstance(kernel, str) else kernel

    def call(self, *args: Any) -> Any:
        """Run the kernel."""
        return self.kernel(*args)

    def compute_output_spec(self, *args: Any) -> Any:
        """The outputs' shapes and dtypes; sizes that aren't known stay None."""
        given = [a if type(a) in WEAK or hasattr(a, "dtype") else np.asarray(a) for a in args]
        plan = self.kernel.plan(
            [type(a) if type(a) in WEAK else keras.backend.standardize_dtype(a.dtype) for a in given]
        )
        shapes = self.kernel.shapes([() if type(a) in WEAK else tuple(a.shape) for a in given])
        outputs = [keras.KerasTensor(shape, dtype) for shape, dtype in zip(shapes, plan.outputs, strict=True)]
        return outputs[0] if len(outputs) == 1 else tuple(outputs)

    def get_config(self) -> dict[str, Any]:
        """The operation's name, and where the kernel is defined."""
        return {"name": self.name, "kernel": address(self.kernel)}


def address(kernel: Kernel) -> str:
    """`module:name` of a kernel."""
    return f"{kernel.function.__module__}:{kernel.function.__qualname__}"


def find(where: str) -> Kernel:
    """The kernel that is defined at `module:name`.

    Raises:
        KernelError: Where its module isn't imported, or doesn't hold it.
    """
    import sys

    from layerwright.kernels.kernel import Kernel

    module, _, name = where.partition(":")
    value: Any = sys.modules.get(module)
    for part in name.split("."):
        value = getattr(value, part, None)
    if isinstance(value, Kernel):
        return value
    held = [n for n, v in vars(sys.modules[module]).items() if isinstance(v, Kernel)] if module in sys.modules else []
    raise KernelError(
        f"The model that is loaded uses the kernel `{name}`, which isn't there.",
        expected=f"`{name}` in the module `{module}`, imported",
        got=f"a module with {', '.join(nearest(name, held)) or 'no such kernel'}" if held else "no such module",
        fix=f"import `{module}` before the model is loaded.",
    )
