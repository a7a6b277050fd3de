"""Keeps `graph-differs`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Alternate(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * 2.0

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Alternate()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow",)
