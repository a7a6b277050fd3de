"""Breaks `python-constant-baked`."""

import keras
import numpy as np
from keras import ops

BACKENDS = (
    "tensorflow",
    "jax",
)


@keras.saving.register_keras_serializable(package="docs")
class Sharpen(keras.layers.Layer):
    def __init__(self, temperature=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.temperature = temperature

    def call(self, x):
        return ops.softmax(ops.cast(x, self.compute_dtype) / self.temperature)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "temperature": self.temperature}


def make():
    return Sharpen()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
