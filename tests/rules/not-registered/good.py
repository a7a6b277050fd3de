"""Keeps `not-registered`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_not_registered")
class Shift(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return ops.cast(x, self.compute_dtype) + 1.0

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Shift()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
