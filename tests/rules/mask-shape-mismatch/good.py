"""Keeps `mask-shape-mismatch`."""

import keras
import numpy as np


@keras.saving.register_keras_serializable(package="docs")
class Pool2(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return x[:, ::2]

    def compute_mask(self, inputs, mask=None):
        return None if mask is None else mask[:, ::2]

    def compute_output_shape(self, input_shape):
        steps = None if input_shape[1] is None else (input_shape[1] + 1) // 2
        return (input_shape[0], steps, *input_shape[2:])


def make():
    return Pool2()


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 4, 3),)
