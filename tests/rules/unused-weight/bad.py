"""A layer that `unused-weight` rejects."""

import numpy as np
from keras import layers, ops


class Proj(layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")
        self.temperature = self.add_weight(shape=(), name="temperature")

    def call(self, x):
        return ops.matmul(x, self.w)


def make():
    return Proj()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
