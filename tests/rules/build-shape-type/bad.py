"""A layer that `build-shape-type` rejects."""

import numpy as np
from keras import layers, ops


class Table(layers.Layer):
    def build(self, input_shape):
        self.table = self.add_weight(shape=(2,) + input_shape[1:], name="table")

    def call(self, x):
        return x + ops.mean(self.table, axis=0)


def make():
    return Table()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
