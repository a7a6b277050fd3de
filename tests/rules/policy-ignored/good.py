"""Keeps `policy-ignored`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Careful(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        wide = ops.softplus(ops.cast(x, "float32"))
        return ops.cast(wide, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Careful()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
