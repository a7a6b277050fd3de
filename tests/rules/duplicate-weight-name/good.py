"""Keeps `duplicate-weight-name`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_distinct_weight_names")
class Affine(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")
        self.shift = self.add_weight(shape=(), initializer="zeros", name="shift")

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * ops.cast(self.scale, x.dtype) + ops.cast(self.shift, x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Affine()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
