"""Breaks `output-shape-mismatch`."""

import numpy as np
from keras import layers, ops


class Doubled(layers.Layer):
    def call(self, x):
        return ops.concatenate([x, -x], axis=-1)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Doubled()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
