"""Breaks `python-state-in-call`."""

import keras
import numpy as np

BACKENDS = (
    "tensorflow",
    "jax",
)


class Warm(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.step = 0

    def call(self, x):
        self.step += 1
        return x / self.step


def make():
    return Warm()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
