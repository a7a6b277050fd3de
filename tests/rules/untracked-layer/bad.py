"""A layer that `untracked-layer` rejects."""

import numpy as np
from keras import layers


class Stack(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.blocks = [None] * 2
        for k in range(2):
            self.blocks[k] = layers.Dense(4)

    def build(self, input_shape):
        for block in self.blocks:
            block.build(input_shape)

    def call(self, x):
        for block in self.blocks:
            x = block(x)
        return x


def make():
    return Stack()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
