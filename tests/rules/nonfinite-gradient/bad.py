"""Breaks `nonfinite-gradient`."""

import numpy as np
from keras import layers, ops


class Root(layers.Layer):
    def build(self, input_shape):
        self.gain = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="gain")

    def call(self, x):
        return ops.sqrt(ops.abs(x)) * self.gain


def make():
    return Root()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
