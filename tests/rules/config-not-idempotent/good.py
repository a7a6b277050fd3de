"""Keeps `config-not-idempotent`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_not_idempotent")
class Gain(keras.layers.Layer):
    def __init__(self, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.rate = rate

    def call(self, x):
        return ops.cast(x, self.compute_dtype) * (2 * self.rate)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}


def make():
    return Gain(0.25)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
