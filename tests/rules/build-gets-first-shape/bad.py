"""A layer that `build-gets-first-shape` rejects."""

import numpy as np
from keras import layers


class Score(layers.Layer):
    def build(self, input_shape):
        first = input_shape[0] if isinstance(input_shape, list) else input_shape
        self.w = self.add_weight(shape=(int(first[-1]),), name="w")

    def call(self, inputs):
        x, y = inputs
        return x * self.w * y


def make():
    return Score()


INPUTS = (
    [
        np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),
        np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),
    ],
)
