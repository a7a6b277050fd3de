"""Breaks `state-not-saved`."""

import keras
import numpy as np
from keras import ops


class Centre(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.centre = np.zeros(4, "float32")

    def adapt(self, data):
        self.centre = np.mean(data, axis=0)

    def call(self, x):
        return x - ops.cast(self.centre, x.dtype)


def make():
    layer = Centre()
    layer.adapt(np.full((5, 4), 3.0, "float32"))
    return layer


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
