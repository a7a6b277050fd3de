"""Breaks `config-not-serializable`."""

import keras
import numpy as np
from keras import ops


class Pick(keras.layers.Layer):
    def __init__(self, columns=(0, 1), **kwargs):
        super().__init__(**kwargs)
        self.columns = set(columns)

    def call(self, x):
        return ops.take(x, sorted(self.columns), axis=-1)

    def get_config(self):
        return {**super().get_config(), "columns": self.columns}


def make():
    return Pick()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
