"""Keeps `python-constant-baked`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Sharpen(keras.layers.Layer):
    def __init__(self, temperature=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.start = temperature

    def build(self, input_shape):
        start = keras.initializers.Constant(self.start)
        self.temperature = self.add_weight(shape=(), initializer=start, trainable=False, name="temperature")

    def call(self, x):
        return ops.softmax(ops.cast(x, self.compute_dtype) / self.temperature)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "temperature": self.start}


def make():
    return Sharpen()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
