"""Breaks `backend-specific-ops`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Positive(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        import jax

        return jax.nn.relu(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Positive()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("jax",)
