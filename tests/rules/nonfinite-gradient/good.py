"""Keeps `nonfinite-gradient`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Root(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="gain")

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.sqrt(ops.abs(x) + 1e-3) * self.gain

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Root()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
