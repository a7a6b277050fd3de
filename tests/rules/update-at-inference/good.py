"""Keeps `update-at-inference`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Centered(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", trainable=False, name="mean")

    def call(self, x, training=None):
        if training:
            self.mean.assign(0.9 * self.mean + 0.1 * ops.cast(ops.mean(x, axis=0), self.mean.dtype))
        return x - ops.cast(self.mean, x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Centered()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
