"""Breaks `training-hardcoded`."""

import keras
import numpy as np
from keras import layers


class Normed(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.norm.build(input_shape)

    def call(self, x):
        return self.norm(x, training=True)


def make():
    return Normed()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
