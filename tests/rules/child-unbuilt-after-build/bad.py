"""A layer that `child-unbuilt-after-build` rejects."""

import numpy as np
from keras import layers


class Lift(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.proj = layers.Dense(3, dtype=self.dtype_policy)

    def build(self, input_shape):
        super().build(input_shape)

    def call(self, x):
        return self.proj(x)


def make():
    return Lift()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
