"""Keeps `nonfinite-output`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Standardize(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        wide = ops.cast(x, keras.backend.result_type(self.compute_dtype, "float32"))
        centred = wide - ops.mean(wide, axis=-1, keepdims=True)
        scale = ops.rsqrt(ops.mean(ops.square(centred), axis=-1, keepdims=True) + 1e-3)
        return ops.cast(centred * scale, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Standardize()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
