"""Breaks `unattached-seed-generator`."""

import keras
import numpy as np
from keras import ops

BACKENDS = ("jax",)


class Source:
    def __init__(self):
        self.generator = keras.random.SeedGenerator(1)


class Jitter(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.source = Source()

    def call(self, x, training=False):
        return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.source.generator) if training else x


def make():
    return Jitter()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
