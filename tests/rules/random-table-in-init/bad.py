"""Breaks `random-table-in-init`."""

import keras
import numpy as np
from keras import ops


class Project(keras.layers.Layer):
    def __init__(self, size=3, **kwargs):
        super().__init__(**kwargs)
        self.table = np.random.normal(size=(4, size)).astype("float32")

    def call(self, x):
        return ops.matmul(x, ops.cast(self.table, x.dtype))


def make():
    return Project()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
