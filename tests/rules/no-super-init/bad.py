"""A layer that `no-super-init` rejects."""

import numpy as np
from keras import layers


class Shift(layers.Layer):
    def __init__(self, shift=1.0, **kwargs):
        self.shift = shift

    def call(self, x):
        return x + self.shift


def make():
    return Shift()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
