"""A layer that `attribute-before-super` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Double(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return ops.cast(x, self.compute_dtype) * 2.0

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Double()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
