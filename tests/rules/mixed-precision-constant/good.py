"""Keeps `mixed-precision-constant`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Tint(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * ops.convert_to_tensor([0.1, 0.2, 0.3, 0.4], dtype=x.dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Tint()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
