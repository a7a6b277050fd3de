"""Breaks `config-object-not-deserialized`."""

import keras
import numpy as np
from keras import layers


class Residual(keras.layers.Layer):
    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.inner = inner

    def build(self, input_shape):
        self.inner.build(input_shape)

    def call(self, x):
        return x + self.inner(x)

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}


def make():
    return Residual(layers.Dense(4))


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
