"""Keeps `static-batch`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class AddAxis(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.expand_dims(x, -1)

    def compute_output_shape(self, input_shape):
        return (*input_shape, 1)


def make():
    return AddAxis()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow",)
