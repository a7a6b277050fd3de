"""Breaks `config-extra-key`."""

import keras
import numpy as np
from keras import ops


class Pad(keras.layers.Layer):
    def __init__(self, width=1, **kwargs):
        super().__init__(**kwargs)
        self.width = width

    def call(self, x):
        return ops.pad(x, [[0, 0], [self.width, self.width]])

    def get_config(self):
        return {**super().get_config(), "padding": self.width}


def make():
    return Pad(width=2)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
