"""JAX, as the checks see it."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

import jax
import jax.numpy as jnp
import keras
import numpy as np
from jax.experimental.compilation_cache import compilation_cache

from layerwright.checks import compilations
from layerwright.checks.engines import Project, Step, Stepper


class Jax:
    """The engine of JAX."""

    name = "jax"

    def seed(self, seed: int) -> None:
        """JAX has no random numbers of its own to seed."""

    @contextmanager
    def kept(self) -> Iterator[None]:
        # JAX has no random numbers to keep; what it compiles again and again is looked up meanwhile.
        if jax.config.jax_compilation_cache_dir is not None:
            yield
            return
        settings = {
            "jax_compilation_cache_dir": compilations.folder(),
            "jax_persistent_cache_min_compile_time_secs": 0.0,
        }
        before = {name: getattr(jax.config, name) for name in settings}
        try:
            _configure(settings)
            yield
        finally:
            _configure(before)

    def stepper(self, layer: Any, args: Any, kwargs: Any, project: Project, compiled: bool = True) -> Stepper:
        structure = (args, kwargs)
        flat = keras.tree.flatten(structure)
        floats = [i for i, x in enumerate(flat) if _floating(x)]
        others = [i for i, x in enumerate(flat) if isinstance(x, np.ndarray) and not _floating(x)]
        weights, state = layer.trainable_variables, layer.non_trainable_variables

        def total(trained: Any, inputs: Any, rest: Any, whole: Any) -> Any:
            full = list(flat)
            for place, value in [*zip(floats, inputs, strict=True), *zip(others, whole, strict=True)]:
                full[place] = value
            call_args, call_kwargs = keras.tree.pack_sequence_as(structure, full)
            mapping = [*zip(weights, trained, strict=True), *zip(state, rest, strict=True)]
            with keras.StatelessScope(state_mapping=mapping, collect_losses=True) as scope:
                outputs = [y for y in keras.tree.flatten(layer(*call_args, **call_kwargs)) if y is not None]
                losses = sum((jnp.asarray(x, "float32") for x in layer.losses), jnp.zeros((), "float32"))
            after = [scope.get_current_value(v) for v in state]
            sums = [
                jnp.sum(y.astype("float32") * project(i, y.shape).astype("float32"))
                for i, y in enumerate(outputs)
                if jnp.issubdtype(y.dtype, jnp.floating)
            ]
            kept = [r if a is None else a for a, r in zip(after, rest, strict=True)]
            return sum(sums, losses), (outputs, losses, kept)

        run = jax.value_and_grad(total, argnums=(0, 1), has_aux=True, allow_int=True)
        run = jax.jit(run) if compiled else run

        def step(args: Any, kwargs: Any) -> Step:
            given = keras.tree.flatten((args, kwargs))
            values = [v.value for v in weights], [jnp.asarray(given[i]) for i in floats]
            rest = [v.value for v in state], [jnp.asarray(given[i]) for i in others]
            (_, (outputs, losses, after)), (by_weight, by_input) = run(*values, *rest)
            return Step(
                [np.asarray(y) for y in outputs],
                float(losses),
                [_gradient(g) for g in by_weight],
                [_gradient(g) for g in by_input],
                [keras.ops.convert_to_numpy(v) for v in after],
            )

        return step

    def compiled(self, layer: Any, args: Any, kwargs: Any) -> list[np.ndarray] | None:
        flat = keras.tree.flatten((args, kwargs))
        places = [i for i, x in enumerate(flat) if isinstance(x, np.ndarray)]
        variables = layer.variables

        def run(tensors: Any, values: Any) -> Any:
            full = list(flat)
            for place, tensor in zip(places, tensors, strict=True):
                full[place] = tensor
            call_args, call_kwargs = keras.tree.pack_sequence_as((args, kwargs), full)
            with keras.StatelessScope(state_mapping=list(zip(variables, values, strict=True))):
                return [y for y in keras.tree.flatten(layer(*call_args, **call_kwargs)) if y is not None]

        outputs = jax.jit(run)([jnp.asarray(flat[i]) for i in places], [v.value for v in variables])
        return [np.asarray(y) for y in outputs]

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, jax.Array)

    def is_traced(self, value: Any) -> bool:
        return isinstance(value, jax.core.Tracer)

    def is_variable(self, value: Any) -> bool:
        return False

    def state_types(self) -> tuple[type, ...]:
        return ()

    def registered(self, layer: Any) -> dict[str, Any]:
        return {}

    def host_functions(self) -> list[Any]:
        return (
            [jax.pure_callback, jax.experimental.io_callback] if hasattr(jax, "experimental") else [jax.pure_callback]
        )

    def gradient_makers(self) -> list[Any]:
        return [jax.custom_vjp, jax.custom_jvp]


def _configure(settings: Mapping[str, Any]) -> None:
    for name, value in settings.items():
        jax.config.update(name, value)
    # JAX looks at its settings once, at the first compilation.
    compilation_cache.reset_cache()


def _floating(x: Any) -> bool:
    return isinstance(x, np.ndarray) and np.issubdtype(x.dtype, np.floating)


def _gradient(value: Any) -> np.ndarray | None:
    # The gradient of an integer weight has JAX's own dtype for "none".
    return None if value.dtype == jax.dtypes.float0 else np.asarray(value)


ENGINE = Jax()
