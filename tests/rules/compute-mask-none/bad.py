"""Breaks `compute-mask-none`."""

import keras
import numpy as np


class Pool2(keras.layers.Layer):
    def call(self, x):
        return x[:, ::2]

    def compute_mask(self, inputs, mask=None):
        return mask[:, ::2]


def make():
    return Pool2()


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 4, 3),)
