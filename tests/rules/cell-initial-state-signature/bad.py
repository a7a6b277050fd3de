"""Breaks `cell-initial-state-signature`."""

import keras
import numpy as np
from keras import layers, ops


class Cell(keras.layers.Layer):
    def __init__(self, units=3, **kwargs):
        super().__init__(**kwargs)
        self.units = units
        self.state_size = units

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], self.units), name="w")

    def call(self, inputs, states):
        h = ops.tanh(ops.matmul(inputs, self.w) + states[0])
        return h, [h]

    def get_initial_state(self, inputs, batch_size, dtype):
        return [ops.zeros((batch_size, self.units), dtype=dtype)]

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def make():
    return layers.RNN(Cell())


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),)
