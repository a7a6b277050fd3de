"""Breaks `call-not-traceable`."""

import numpy as np
from keras import layers, ops


class Alive(layers.Layer):
    def call(self, x):
        return x[:, ops.max(x, axis=0) > -100.0]


def make():
    return Alive()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("jax",)
