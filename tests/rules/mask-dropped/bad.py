"""Breaks `mask-dropped`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Half(keras.layers.Layer):
    def call(self, x):
        return 0.5 * ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Half()


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),)
