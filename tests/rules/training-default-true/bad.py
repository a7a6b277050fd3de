"""Breaks `training-default-true`."""

import keras
import numpy as np
from keras import layers


class Noisy(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def call(self, x, training=True):
        return self.drop(x, training=training)


def make():
    return Noisy()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
