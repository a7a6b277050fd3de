"""Breaks `length-baked`."""

import numpy as np
from keras import layers


class AddPosition(layers.Layer):
    def build(self, input_shape):
        self.table = self.add_weight(shape=(input_shape[1], input_shape[2]), name="table")

    def call(self, x):
        return x + self.table


def make():
    return AddPosition()


INPUTS = (np.ones((2, 5, 3), "float32"),)
