"""Keeps `no-gradient`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Choose(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1], 4), name="w")

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.softmax(ops.matmul(x, self.w), axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Choose()


INPUTS = (np.random.RandomState(0).rand(2, 4).astype("float32"),)
