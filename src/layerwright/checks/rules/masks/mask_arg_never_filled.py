from __future__ import annotations

import inspect
from collections.abc import Iterator

import keras

from layerwright.checks.lab import Lab
from layerwright.checks.report import Finding
from layerwright.checks.rule import rule
from layerwright.checks.rules.masks._masked import user_layer
from layerwright.checks.source import Function


@rule("LW604", "error", hides=("mask-ignored", "mask-dropped"))
def mask_arg_never_filled(lab: Lab) -> Iterator[Finding]:
    """A mask argument of `call` has a name that Keras never fills.

    ## What it does
    Compares the mask arguments of `call` with the names that Keras fills: `mask`, where there is one tensor
    argument; `<name>_mask` for each, where there are several.

    ## Why is this bad
    The argument is None for ever, and the padding counts as data. Nothing is said.

    ## Example
    ```python
    class Weighted(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, values, weights, mask=None):
            y = values * weights
            return y if mask is None else y * ops.cast(ops.expand_dims(mask, -1), y.dtype)

        def compute_output_shape(self, values_shape, weights_shape):
            return values_shape
    ```

    ## Use instead
    ```python
    @keras.saving.register_keras_serializable(package="docs")
    class Weighted(keras.layers.Layer):
        def __init__(self, **kwargs):
            super().__init__(**kwargs)
            self.supports_masking = True

        def call(self, values, weights, values_mask=None):
            y = values * weights
            return y if values_mask is None else y * ops.cast(ops.expand_dims(values_mask, -1), y.dtype)

        def compute_output_shape(self, values_shape, weights_shape):
            return values_shape
    ```

    ## Known limits
    An argument that is filled by hand where the layer is called is left alone only if the check is given it too.

    ## Source
    `Layer.__call__` in Keras 3, step 6.
    """
    layer = user_layer(lab)
    call = lab.components[0].source.method("call")
    if call is None or call.live is None:
        return
    bound = inspect.signature(call.live).bind_partial(layer, *lab.feed.args, **lab.feed.kwargs).arguments
    tensors = [name for name, value in bound.items() if _is_tensor(value)]
    optional = [n for n, p in inspect.signature(call.live).parameters.items() if p.default is None and n not in bound]
    for name in optional:
        wanted = _wanted(name, tensors)
        if wanted is None or not _read(call, name):
            continue
        yield lab.finding(
            f"`{type(layer).__name__}.call` has an argument `{name}`, which Keras never fills for "
            f"{'one tensor argument' if len(tensors) == 1 else f'{len(tensors)} tensor arguments'}.",
            expected=wanted,
            got=name,
            fix=f"rename `{name}` to `{wanted}`.",
            at=call,
        )


def _wanted(name: str, tensors: list[str]) -> str | None:
    """The name that Keras would fill in place of this one; None where it does fill it, or it is something else."""
    if not tensors:
        return None
    filled = ["mask"] if len(tensors) == 1 else [f"{t}_mask" for t in tensors]
    if name in filled:
        return None
    if len(tensors) == 1:
        return "mask" if name in (f"{tensors[0]}_mask", "masks", "input_mask", "inputs_mask") else None
    if name in ("mask", "masks"):
        return filled[0]
    short = name.removesuffix("_mask")
    near = [t for t in tensors if name.endswith("_mask") and short and t.startswith(short)]
    return f"{near[0]}_mask" if near else None


def _is_tensor(value: object) -> bool:
    flat = keras.tree.flatten(value)
    return bool(flat) and all(hasattr(x, "shape") for x in flat)


def _read(call: Function, name: str) -> bool:
    return any(getattr(node, "id", None) == name for node in call.walk())
