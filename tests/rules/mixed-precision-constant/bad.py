"""Breaks `mixed-precision-constant`."""

import numpy as np
from keras import layers, ops


class Tint(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.tint = ops.convert_to_tensor(np.array([0.1, 0.2, 0.3, 0.4], "float32"))

    def call(self, x):
        return x * self.tint


def make():
    return Tint()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
