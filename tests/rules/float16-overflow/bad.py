"""Breaks `float16-overflow`."""

import numpy as np
from keras import layers, ops


class RootMeanSquare(layers.Layer):
    def call(self, x):
        return ops.sqrt(ops.mean(x * x, axis=-1, keepdims=True) + 1e-3)


def make():
    return RootMeanSquare()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
