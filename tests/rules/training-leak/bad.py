"""Breaks `training-leak`."""

import keras
import numpy as np
from keras import layers


class Head(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.norm = layers.BatchNormalization(dtype=self.dtype_policy, trainable=self.trainable)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.norm.build(input_shape)

    def call(self, x, training=None):
        return self.drop(self.norm(x, training=False))


def make():
    return Head()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
