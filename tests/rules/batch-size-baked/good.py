"""Keeps `batch-size-baked`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class AddNoise(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.shift = self.add_weight(shape=input_shape[1:], name="shift")

    def call(self, x):
        return ops.cast(x, self.compute_dtype) + self.shift

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return AddNoise()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
