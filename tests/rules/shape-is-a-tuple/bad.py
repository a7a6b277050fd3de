"""A layer that `shape-is-a-tuple` rejects."""

import numpy as np
from keras import layers


class Scale(layers.Layer):
    def build(self, input_shape):
        features = input_shape.as_list()[-1]
        self.scale = self.add_weight(shape=(features,), name="scale")

    def call(self, x):
        return x * self.scale


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
