"""Breaks `constant-seed`."""

import keras
import numpy as np
from keras import ops


class Jitter(keras.layers.Layer):
    def call(self, x, training=False):
        return x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=1337) if training else x


def make():
    return Jitter()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
