"""Breaks `list-in-concat`."""

import numpy as np
from keras import layers, ops


class AppendFlags(layers.Layer):
    def call(self, x):
        return ops.concatenate([x, [1.0, 2.0]], axis=-1)


def make():
    return AppendFlags()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
