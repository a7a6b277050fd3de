"""A layer that `unused-sublayer` rejects."""

import numpy as np
from keras import layers


class Block(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.proj = layers.Dense(4, dtype=self.dtype_policy)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.proj.build(input_shape)

    def call(self, x, training=None):
        return self.proj(x)


def make():
    return Block()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
