"""Keeps `reload-differs`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_reload_differs")
class Scale(keras.layers.Layer):
    def __init__(self, by=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.by = by

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(), initializer="ones", name="scale")

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return self.by * ops.cast(self.scale, x.dtype) * x

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Scale(by=2.0)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
