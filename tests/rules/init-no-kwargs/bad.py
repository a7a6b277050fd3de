"""Breaks `init-no-kwargs`."""

import keras
import numpy as np


class Halve(keras.layers.Layer):
    def __init__(self):
        super().__init__()

    def call(self, x):
        return x * 0.5


def make():
    return Halve()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
