"""Breaks `training-arg-name`."""

import keras
import numpy as np
from keras import layers


class Noisy(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.noise = layers.GaussianNoise(0.1, dtype=self.dtype_policy)

    def call(self, x, is_training=False):
        return self.noise(x, training=is_training)


def make():
    return Noisy()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
