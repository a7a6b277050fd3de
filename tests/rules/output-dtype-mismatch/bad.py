"""Breaks `output-dtype-mismatch`."""

import numpy as np
from keras import layers, ops


class Winner(layers.Layer):
    def call(self, x):
        return ops.argmax(x, axis=-1)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[:-1])


def make():
    return Winner()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
