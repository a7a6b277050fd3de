"""TensorFlow, as the checks see it."""

from __future__ import annotations

import random
from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from layerwright.checks.engines import Project, Step, Stepper

try:
    from tensorflow.python.eager import context
    from tensorflow.python.framework import random_seed
except ImportError:
    context = random_seed = None


class TensorFlow:
    """The engine of TensorFlow."""

    name = "tensorflow"

    def seed(self, seed: int) -> None:
        _RANDOM.seed(seed)

    @contextmanager
    def kept(self) -> Iterator[None]:
        # Every probe traces a function of its own, which TensorFlow takes for a mistake and says so.
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("ERROR")
        before = context.global_seed() if hasattr(context, "global_seed") else None
        try:
            yield
        finally:
            logger.setLevel(level)
            if before is not None:
                tf.random.set_seed(before)

    def stepper(self, layer: Any, args: Any, kwargs: Any, project: Project, compiled: bool = True) -> Stepper:
        structure = (args, kwargs)
        places = [i for i, x in enumerate(keras.tree.flatten(structure)) if isinstance(x, np.ndarray)]

        def run(tensors: Any) -> Any:
            full = list(keras.tree.flatten(structure))
            for place, tensor in zip(places, tensors, strict=True):
                full[place] = tensor
            call_args, call_kwargs = keras.tree.pack_sequence_as(structure, full)
            inputs = [x for x in tensors if x.dtype.is_floating]
            with tf.GradientTape() as tape:
                tape.watch(inputs)
                outputs = [y for y in keras.tree.flatten(layer(*call_args, **call_kwargs)) if y is not None]
                total = losses = sum((tf.cast(x, "float64") for x in layer.losses), tf.constant(0.0, "float64"))
                for i, y in enumerate(outputs):
                    if tf.is_tensor(y) and y.dtype.is_floating:
                        total += tf.reduce_sum(tf.cast(y, "float64") * project(i, tuple(y.shape)))
            grads = tape.gradient(total, [*(v.value for v in layer.trainable_variables), *inputs])
            return outputs, losses, [None if g is None else tf.convert_to_tensor(g) for g in grads]

        call = tf.function(run, autograph=False) if compiled else run

        def step(args: Any, kwargs: Any) -> Step:
            flat = keras.tree.flatten((args, kwargs))
            outputs, losses, grads = call([tf.convert_to_tensor(flat[i]) for i in places])
            arrays = [None if g is None else keras.ops.convert_to_numpy(g) for g in grads]
            count = len(layer.trainable_variables)
            state = [keras.ops.convert_to_numpy(v) for v in layer.non_trainable_variables]
            return Step(
                [keras.ops.convert_to_numpy(y) for y in outputs], float(losses), arrays[:count], arrays[count:], state
            )

        return step

    def compiled(self, layer: Any, args: Any, kwargs: Any) -> list[np.ndarray] | None:
        args, kwargs = keras.tree.map_structure(_tensor, (args, kwargs))
        flat = keras.tree.flatten((args, kwargs))
        places = [i for i, x in enumerate(flat) if tf.is_tensor(x)]

        def run(*tensors: Any) -> Any:
            full = list(flat)
            for place, tensor in zip(places, tensors, strict=True):
                full[place] = tensor
            call_args, call_kwargs = keras.tree.pack_sequence_as((args, kwargs), full)
            return [y for y in keras.tree.flatten(layer(*call_args, **call_kwargs)) if y is not None]

        specs = [tf.TensorSpec([None, *flat[i].shape[1:]] if flat[i].shape.rank else [], flat[i].dtype) for i in places]
        traced = tf.function(run, autograph=False, input_signature=specs)
        return [keras.ops.convert_to_numpy(y) for y in traced(*(flat[i] for i in places))]

    def is_tensor(self, value: Any) -> bool:
        return isinstance(value, tf.Tensor | tf.RaggedTensor | tf.SparseTensor)

    def is_traced(self, value: Any) -> bool:
        return isinstance(value, tf.Tensor) and not hasattr(value, "numpy")

    def is_variable(self, value: Any) -> bool:
        return isinstance(value, tf.Variable)

    def state_types(self) -> tuple[type, ...]:
        return (tf.Variable, tf.Module)

    def registered(self, layer: Any) -> dict[str, Any]:
        return {}

    def host_functions(self) -> list[Any]:
        return [tf.numpy_function, tf.py_function]

    def gradient_makers(self) -> list[Any]:
        return [tf.custom_gradient, tf.RegisterGradient]


class _Random:
    """Seeding that leaves TensorFlow its kernels where none of them holds random state.

    `tf.random.set_seed` drops all kernels, so that those which draw begin anew. To make one takes a millisecond, a
    check seeds before every probe, and Keras' own random operations are stateless: half of a check's time went there.
    """

    def __init__(self) -> None:
        # Whether an operation drew since the kernels were dropped; whether a traced function may draw at any time.
        self.drew, self.may_draw = True, False
        real = getattr(random_seed, "get_seed", None)
        self._watching = real is not None and hasattr(context, "context")

        def get_seed(op_seed: Any) -> Any:
            graph = None if tf.executing_eagerly() else tf.compat.v1.get_default_graph().name
            if graph is None:
                self.drew = True
            elif not graph.startswith("Dataset_"):  # a data set has kernels of its own
                self.may_draw = True
            return real(op_seed)  # type: ignore[misc]

        if self._watching:
            random_seed.get_seed = get_seed

    def seed(self, seed: int) -> None:
        """Seed it as `tf.random.set_seed` does."""
        here: Any = context.context() if self._watching and tf.executing_eagerly() else None
        if self.drew or self.may_draw or not (hasattr(here, "_seed") and hasattr(here, "_rng")):
            tf.random.set_seed(seed)
            self.drew = False
            return
        here._seed, here._rng = seed, random.Random(seed)


_RANDOM = _Random()


def _tensor(x: Any) -> Any:
    return tf.convert_to_tensor(x) if isinstance(x, np.ndarray) else x


ENGINE = TensorFlow()
