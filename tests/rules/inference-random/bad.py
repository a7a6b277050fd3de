"""Breaks `inference-random`."""

import keras
import numpy as np
from keras import ops


class Jitter(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(0)

    def call(self, x):
        return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator)


def make():
    return Jitter()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
