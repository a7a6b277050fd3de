"""A layer that `child-weight-bypass` rejects."""

import numpy as np
from keras import layers, ops


class Bypass(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.proj = layers.Dense(3, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.proj.build(input_shape)

    def call(self, x):
        return ops.matmul(x, self.proj.kernel) + self.proj.bias


def make():
    return Bypass()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
