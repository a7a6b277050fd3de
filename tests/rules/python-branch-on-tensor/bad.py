"""Breaks `python-branch-on-tensor`."""

import numpy as np
from keras import layers, ops


class Boost(layers.Layer):
    def call(self, x):
        if ops.mean(x) > 0.5:
            return x * 2.0
        return x


def make():
    return Boost()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow", "jax")
