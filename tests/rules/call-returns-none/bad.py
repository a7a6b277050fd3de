"""Breaks `call-returns-none`."""

import numpy as np
from keras import layers, ops


class Rectify(layers.Layer):
    def call(self, x):
        x = ops.relu(x)


def make():
    return Rectify()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
