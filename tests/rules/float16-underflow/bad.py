"""Breaks `float16-underflow`."""

import numpy as np
from keras import layers, ops


class Unit(layers.Layer):
    def call(self, x):
        return x / (ops.sqrt(ops.mean(ops.square(x), axis=-1, keepdims=True)) + 1e-8)


def make():
    return Unit()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
