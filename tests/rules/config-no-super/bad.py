"""Breaks `config-no-super`."""

import keras
import numpy as np


class Shift(keras.layers.Layer):
    def __init__(self, by=1.0, **kwargs):
        super().__init__(**kwargs)
        self.by = by

    def call(self, x):
        return x + self.by

    def get_config(self):
        return {"by": self.by}


def make():
    return Shift(by=2.0)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
