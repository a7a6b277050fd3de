"""Breaks `mask-ignored`."""

import keras
import numpy as np
from keras import ops


class MeanPool(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, mask=None):
        return ops.mean(x, axis=1)

    def compute_mask(self, inputs, mask=None):
        return None


def make():
    return MeanPool()


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),)
