"""A module of StableHLO that calls the handler of a kernel, also where sizes aren't known yet.

Sizes that are open are operands of the call: XLA computes them when it knows the inputs' shapes.
"""

from __future__ import annotations

from collections.abc import Sequence

from layerwright.kernels.signature import Shape, Signature

_TYPES = {"bool": "i1", "float32": "f32", "float64": "f64"}
_SIZE, _VECTOR = "tensor<i32>", "tensor<1xi32>"


def module(
    signature: Signature, handler: str, dtypes: Sequence[str], shapes: Sequence[Shape], results: Sequence[Shape]
) -> str:
    """The text of the module.

    Args:
        signature: Of the kernel.
        handler: The name under which XLA knows it.
        dtypes: Its loop dtypes, inputs first.
        shapes, results: The shapes of the inputs and of the outputs; None where a size is open.
    """
    count = len(shapes)
    inputs = [_tensor(shape, dtype) for shape, dtype in zip(shapes, dtypes, strict=False)]
    outputs = [_tensor(shape, dtype) for shape, dtype in zip(results, dtypes[count:], strict=True)]
    body = _Body(signature, shapes, inputs)
    operands, kinds, attributes = [f"%arg{k}" for k in range(count)], [*inputs], "api_version = 4 : i32"
    if any(None in shape for shape in results):
        sizes = [body.shape(signature.outputs[j], shape) for j, shape in enumerate(results)]
        operands += [name for name, _ in sizes]
        kinds += [kind for _, kind in sizes]
        indices = ", ".join(str(count + j) for j in range(len(sizes)))
        attributes += f", indices_of_shape_operands = dense<[{indices}]> : tensor<{len(sizes)}xi64>"
    called = f'stablehlo.custom_call @"{handler}"({", ".join(operands)}) {{{attributes}, backend_config = {{}}}}'
    given, count_of_results = f"({', '.join(outputs)})", len(outputs)
    if count_of_results == 1:
        body.lines.append(f"%r = {called} : ({', '.join(kinds)}) -> {outputs[0]}")
        returned = "%r"
    else:
        body.lines.append(f"%r:{count_of_results} = {called} : ({', '.join(kinds)}) -> {given}")
        returned = ", ".join(f"%r#{j}" for j in range(count_of_results))
    arguments = ", ".join(f"%arg{k}: {kind}" for k, kind in enumerate(inputs))
    lines = "\n    ".join([*body.lines, f"return {returned} : {', '.join(outputs)}"])
    return (
        "module @kernel attributes {jax.uses_shape_polymorphism = true} {\n"
        f"  func.func public @main({arguments}) -> {given} {{\n    {lines}\n  }}\n}}"
    )


def _tensor(shape: Shape, dtype: str) -> str:
    kind = _TYPES.get(dtype) or dtype.replace("uint", "ui").replace("int", "i")
    return f"tensor<{''.join('?x' if size is None else f'{size}x' for size in shape)}{kind}>"


class _Body:
    """The lines that compute open sizes."""

    def __init__(self, signature: Signature, shapes: Sequence[Shape], kinds: Sequence[str]) -> None:
        self.lines: list[str] = []
        self._signature, self._shapes, self._kinds = signature, shapes, kinds

    def shape(self, core: Sequence[str | int], shape: Shape) -> tuple[str, str]:
        """The shape of an output as a vector, and the vector's type."""
        lead = len(shape) - len(core)
        parts = []
        for axis, size in enumerate(shape):
            if size is not None:
                value = self._constant(size)
            elif axis < lead:
                value = self._batch(axis - lead)
            else:
                value = self._named(core[axis - lead])
            parts.append(self._line(f"stablehlo.reshape {value}", f"({_SIZE}) -> {_VECTOR}"))
        kind = f"tensor<{len(parts)}xi32>"
        if not parts:
            return self._line("stablehlo.constant dense<>", kind), kind
        types = ", ".join([_VECTOR] * len(parts))
        return self._line(f"stablehlo.concatenate {', '.join(parts)}, dim = 0", f"({types}) -> {kind}"), kind

    def _line(self, text: str, kind: str) -> str:
        self.lines.append(f"%v{len(self.lines)} = {text} : {kind}")
        return f"%v{len(self.lines) - 1}"

    def _constant(self, value: int) -> str:
        return self._line(f"stablehlo.constant dense<{value}>", _SIZE)

    def _size(self, k: int, axis: int) -> str:
        return self._line(f"stablehlo.get_dimension_size %arg{k}, dim = {axis}", f"({self._kinds[k]}) -> {_SIZE}")

    def _named(self, dim: str | int) -> str:
        """The size of a named dimension, from the first input that has it."""
        for k, core in enumerate(self._signature.inputs):
            if dim in core:
                return self._size(k, len(self._shapes[k]) - len(core) + core.index(dim))
        raise AssertionError(dim)

    def _batch(self, from_core: int) -> str:
        """The size of a leading axis, counted back from the core: where one input has 1, that of the other."""
        found = ""
        for k, core in enumerate(self._signature.inputs):
            axis = len(self._shapes[k]) - len(core) + from_core
            if axis >= 0 and self._shapes[k][axis] != 1:
                size = self._size(k, axis)
                if found:
                    compared = f"stablehlo.compare EQ, {found}, {self._constant(1)}"
                    one = self._line(compared, f"({_SIZE}, {_SIZE}) -> tensor<i1>")
                    size = self._line(f"stablehlo.select {one}, {size}, {found}", f"tensor<i1>, {_SIZE}")
                found = size
        return found
