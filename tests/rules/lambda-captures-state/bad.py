"""Breaks `lambda-captures-state`."""

import keras
import numpy as np
from keras import layers


class Head(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        scores = layers.Dense(3, dtype=self.dtype_policy)
        self.head = layers.Lambda(lambda x: scores(x), dtype=self.dtype_policy)

    def call(self, x):
        return self.head(x)


def make():
    return Head()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
