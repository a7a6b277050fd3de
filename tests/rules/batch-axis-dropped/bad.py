"""Breaks `batch-axis-dropped`."""

import numpy as np
from keras import layers, ops


class Score(layers.Layer):
    def call(self, x):
        return ops.squeeze(ops.sum(x, axis=-1, keepdims=True))


def make():
    return Score()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
