"""PyTorch, as the checks see it."""

from __future__ import annotations

import functools
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import torch

from layerwright.checks.engines import Project, Step, Stepper


class Torch:
    """The engine of PyTorch."""

    name = "torch"

    def seed(self, seed: int) -> None:
        if _only_cpu():
            # `torch.manual_seed` notes the stack for devices that aren't there, which takes milliseconds.
            torch.default_generator.manual_seed(seed)
        else:
            torch.manual_seed(seed)

    @contextmanager
    def kept(self) -> Iterator[None]:
        before = torch.get_rng_state()
        try:
            yield
        finally:
            torch.set_rng_state(before)

    def stepper(self, layer: Any, args: Any, kwargs: Any, project: Project, compiled: bool = True) -> Stepper:
        def step(args: Any, kwargs: Any) -> Step:
            args, kwargs = keras.tree.map_structure(_leaf, (args, kwargs))
            inputs = [x for x in keras.tree.flatten((args, kwargs)) if isinstance(x, torch.Tensor) and x.requires_grad]
            weights = [v.value for v in layer.trainable_variables]
            with torch.enable_grad():
                outputs = [y for y in keras.tree.flatten(layer(*args, **kwargs)) if y is not None]
                total = losses = sum((x.double() for x in layer.losses), torch.zeros((), dtype=torch.float64))
                for i, y in enumerate(outputs):
                    if isinstance(y, torch.Tensor) and y.is_floating_point():
                        weighed = torch.as_tensor(project(i, tuple(y.shape)), device=y.device)
                        total = total + (y.double() * weighed).sum()
                wanted = [x for x in [*weights, *inputs] if x.requires_grad]
                differentiable = total.requires_grad and bool(wanted)
                found = iter(torch.autograd.grad(total, wanted, allow_unused=True) if differentiable else ())
                grads = [next(found, None) if x.requires_grad else None for x in [*weights, *inputs]]
            arrays = [None if g is None else keras.ops.convert_to_numpy(g.detach()) for g in grads]
            return Step(
                [keras.ops.convert_to_numpy(y) for y in outputs],
                float(losses.detach()),
                arrays[: len(weights)],
                arrays[len(weights) :],
                [keras.ops.convert_to_numpy(v) for v in layer.non_trainable_variables],
            )

        return step

    def compiled(self, layer: Any, args: Any, kwargs: Any) -> list[np.ndarray] | None:
        return None

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor)

    def is_traced(self, value: Any) -> bool:
        return isinstance(value, torch.Tensor) and value.device.type == "meta"

    def is_variable(self, value: Any) -> bool:
        return isinstance(value, torch.nn.Parameter)

    def state_types(self) -> tuple[type, ...]:
        return (torch.nn.Parameter, torch.nn.Module)

    def registered(self, layer: Any) -> dict[str, Any]:
        # torch.nn.Module takes modules, parameters and buffers out of the instance's dictionary.
        stores = [vars(layer).get(name) or {} for name in ("_modules", "_parameters", "_buffers")]
        return {name: value for store in stores for name, value in store.items() if name != "_torch_params"}

    def host_functions(self) -> list[Any]:
        return []

    def gradient_makers(self) -> list[Any]:
        return [torch.autograd.Function, torch.library.register_autograd]


def _leaf(x: Any) -> Any:
    if not isinstance(x, np.ndarray):
        return x
    tensor = keras.ops.convert_to_tensor(x)
    return tensor.detach().requires_grad_(tensor.is_floating_point())


@functools.cache
def _only_cpu() -> bool:
    modules = (torch.cuda, torch.backends.mps, getattr(torch, "xpu", None), getattr(torch, "accelerator", None))
    return not any(module.is_available() for module in modules if module is not None)


ENGINE = Torch()
