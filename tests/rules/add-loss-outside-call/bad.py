"""Breaks `add-loss-outside-call`."""

import keras
import numpy as np
from keras import ops


class Penalized(keras.layers.Layer):
    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", name="w")
        self.add_loss(ops.sum(ops.square(ops.convert_to_tensor(self.w))))

    def call(self, x):
        return x * self.w


def make():
    return Penalized()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
