"""Keeps `state-in-branch`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Maybe(keras.layers.Layer):
    def __init__(self, seed=None, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.seed = seed
        self.seed_generator = keras.random.SeedGenerator(seed)

    def call(self, x, training=None):
        if not training:
            return x
        noise = keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator)
        return ops.where(ops.mean(x, axis=-1, keepdims=True) > 0, x + noise, x)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "seed": self.seed}


def make():
    return Maybe()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
