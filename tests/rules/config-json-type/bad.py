"""Breaks `config-json-type`."""

import keras
import numpy as np
from keras import ops


class ToGrid(keras.layers.Layer):
    def __init__(self, grid, **kwargs):
        super().__init__(**kwargs)
        self.grid = grid

    def call(self, x):
        return ops.reshape(x, (-1,) + self.grid)

    def get_config(self):
        return {**super().get_config(), "grid": self.grid}


def make():
    return ToGrid((2, 2))


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
