"""Breaks `int-input`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Shifted(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.shift = self.add_weight(shape=(input_shape[-1],), name="shift")

    def call(self, x):
        return x + self.shift

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Shifted()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow",)
