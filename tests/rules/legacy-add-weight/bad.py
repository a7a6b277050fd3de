"""A layer that `legacy-add-weight` rejects."""

import numpy as np
from keras import layers


class Scale(layers.Layer):
    def build(self, input_shape):
        self.scale = self.add_weight("scale", shape=(input_shape[-1],))

    def call(self, x):
        return x * self.scale


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
