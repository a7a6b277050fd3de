"""Keeps `unseeded-random`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Jitter(keras.layers.Layer):
    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, x, training=False):
        return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator) if training else x

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}


def make():
    return Jitter()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
