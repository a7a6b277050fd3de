"""Keeps `float16-underflow`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Unit(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        wide = ops.cast(x, keras.backend.result_type(self.compute_dtype, "float32"))
        scale = ops.rsqrt(ops.mean(ops.square(wide), axis=-1, keepdims=True) + 1e-6)
        return ops.cast(wide * scale, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Unit()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
