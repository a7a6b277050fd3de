"""A layer that `reserved-attribute` rejects."""

import numpy as np
from keras import layers


class Head(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self._layers = [layers.Dense(3, dtype=self.dtype_policy)]

    def build(self, input_shape):
        self._layers[0].build(input_shape)

    def call(self, x):
        return self._layers[0](x)


def make():
    return Head()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
