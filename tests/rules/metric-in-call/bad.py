"""Breaks `metric-in-call`."""

import keras
import numpy as np
from keras import layers, ops

BACKENDS = ("jax",)


class Watched(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
        self.mean_output = keras.metrics.Mean(name="mean_output")

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        y = self.dense(x)
        self.mean_output.update_state(ops.mean(ops.cast(y, "float32")))
        return y


def make():
    return Watched()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
