"""Breaks `reload-differs`."""

import keras
import numpy as np


class Scale(keras.layers.Layer):
    def __init__(self, by=1.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, x):
        return self.by * self.scale * x

    def save_own_variables(self, store):
        pass

    def load_own_variables(self, store):
        pass


def make():
    return Scale(by=2.0)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
