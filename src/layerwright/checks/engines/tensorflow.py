"""TensorFlow, as the checks see it."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

import keras
import numpy as np
import tensorflow as tf

from layerwright.checks.engines import Project, Step, Stepper


class TensorFlow:
    """The engine of TensorFlow."""

    name = "tensorflow"

    def seed(self, seed: int) -> None:
        tf.random.set_seed(seed)

    @contextmanager
    def kept(self) -> Iterator[None]:
        # Every probe traces a function of its own, which TensorFlow takes for a mistake and says so.
        logger = tf.get_logger()
        level = logger.level
        logger.setLevel("ERROR")
        try:
            from tensorflow.python.eager import context

            before = context.global_seed()
        except (ImportError, AttributeError):
            before = None
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


def _tensor(x: Any) -> Any:
    return tf.convert_to_tensor(x) if isinstance(x, np.ndarray) else x


ENGINE = TensorFlow()
