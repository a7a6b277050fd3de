"""Keeps `training-default-true`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Noisy(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def call(self, x, training=None):
        return self.drop(x, training=training)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Noisy()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
