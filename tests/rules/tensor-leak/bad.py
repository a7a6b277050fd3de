"""Breaks `tensor-leak`."""

import keras
import numpy as np
from keras import ops

BACKENDS = (
    "tensorflow",
    "jax",
)


class Keeper(keras.layers.Layer):
    def call(self, x):
        self.hidden = ops.relu(x)
        return self.hidden


def make():
    return Keeper()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
