"""Breaks `base-arg-not-forwarded`."""

import keras
import numpy as np


class Affine(keras.layers.Layer):
    def __init__(self, gain=1.0, **kwargs):
        super().__init__()
        self.gain = gain

    def call(self, x):
        return self.gain * x


def make():
    return Affine(2.0)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
