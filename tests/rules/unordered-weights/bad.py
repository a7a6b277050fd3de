"""A layer that `unordered-weights` rejects."""

import numpy as np
from keras import layers


class Paths(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.paths = {layers.Dense(4, dtype=self.dtype_policy), layers.Dense(4, dtype=self.dtype_policy)}

    def build(self, input_shape):
        for path in self.paths:
            path.build(input_shape)

    def call(self, x):
        return sum(path(x) for path in self.paths)


def make():
    return Paths()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
