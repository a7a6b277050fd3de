"""A layer that `built-set-early` rejects."""

import numpy as np
from keras import layers


class Scale(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scale = None
        self.built = True

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

    def call(self, x):
        return x if self.scale is None else x * self.scale


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
