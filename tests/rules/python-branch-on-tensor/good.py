"""Keeps `python-branch-on-tensor`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Boost(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        above = ops.mean(x, axis=-1, keepdims=True) > 0.5
        return ops.where(above, x * 2.0, x)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Boost()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow", "jax")
