"""A layer that `unused-weight` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Proj(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")
        self.temperature = self.add_weight(shape=(), initializer="ones", name="temperature")

    def call(self, x):
        return ops.matmul(ops.cast(x, self.compute_dtype), self.w) * self.temperature

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Proj()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
