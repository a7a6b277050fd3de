"""Breaks `update-at-inference`."""

import keras
import numpy as np
from keras import ops


class Centered(keras.layers.Layer):
    def build(self, input_shape):
        self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="mean")

    def call(self, x):
        self.mean.assign(0.9 * self.mean + 0.1 * ops.cast(ops.mean(x, axis=0), self.mean.dtype))
        return x - ops.cast(self.mean, x.dtype)


def make():
    return Centered()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
