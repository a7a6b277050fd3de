"""A layer that `native-variable` rejects."""

import numpy as np
from keras import layers, ops


class Scale(layers.Layer):
    def build(self, input_shape):
        self.scale = ops.ones((input_shape[-1],))

    def call(self, x):
        return x * ops.cast(self.scale, x.dtype)


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
