"""Keeps `mask-arg-never-filled`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Weighted(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, values, weights, values_mask=None):
        y = values * weights
        return y if values_mask is None else y * ops.cast(ops.expand_dims(values_mask, -1), y.dtype)

    def compute_output_shape(self, values_shape, weights_shape):
        return values_shape


def make():
    return Weighted()


INPUTS = (
    np.linspace(-1.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),
    np.linspace(0.0, 1.0, 24, dtype="float32").reshape(2, 3, 4),
)
