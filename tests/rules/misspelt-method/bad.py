"""A layer that `misspelt-method` rejects."""

import numpy as np
from keras import layers


class Scale(layers.Layer):
    def bulid(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

    def call(self, x):
        return x * self.scale


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
