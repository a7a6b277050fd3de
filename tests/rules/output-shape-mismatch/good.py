"""Keeps `output-shape-mismatch`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Doubled(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.concatenate([x, -x], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 2 * input_shape[-1])


def make():
    return Doubled()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
