"""A layer that `layer-should-be-model` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Half(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return ops.cast(x, self.compute_dtype) * 0.5

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Half()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
