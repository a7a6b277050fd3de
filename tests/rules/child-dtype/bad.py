"""Breaks `child-dtype`."""

import numpy as np
from keras import layers


class Wrap(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.proj = layers.Dense(4)

    def build(self, input_shape):
        self.proj.build(input_shape)

    def call(self, x):
        return self.proj(x)


def make():
    return Wrap()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
