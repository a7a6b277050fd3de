"""Breaks `policy-ignored`."""

import numpy as np
from keras import layers, ops


class Careful(layers.Layer):
    def call(self, x):
        return ops.softplus(ops.cast(x, "float32"))


def make():
    return Careful()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
