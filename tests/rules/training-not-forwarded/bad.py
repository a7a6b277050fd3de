"""Breaks `training-not-forwarded`."""

import keras
import numpy as np
from keras import layers


class Head(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)
        self.dense = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        return self.dense(self.drop(x))


def make():
    return Head()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
