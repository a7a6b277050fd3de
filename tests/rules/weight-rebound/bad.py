"""A layer that `weight-rebound` rejects."""

import numpy as np
from keras import layers, ops


class Smooth(layers.Layer):
    def build(self, input_shape):
        self.average = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="average")

    def call(self, x):
        self.average = 0.9 * self.average + 0.1 * ops.mean(x, axis=0)
        return x - self.average


def make():
    return Smooth()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
