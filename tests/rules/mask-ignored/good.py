"""Keeps `mask-ignored`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class MeanPool(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, mask=None):
        if mask is None:
            return ops.mean(x, axis=1)
        keep = ops.expand_dims(ops.cast(mask, x.dtype), -1)
        return ops.sum(x * keep, axis=1) / ops.maximum(ops.sum(keep, axis=1), 1.0)

    def compute_mask(self, inputs, mask=None):
        return None

    def compute_output_shape(self, input_shape):
        return (input_shape[0], *input_shape[2:])


def make():
    return MeanPool()


INPUTS = (np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),)
