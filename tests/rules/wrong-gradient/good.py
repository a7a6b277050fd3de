"""Keeps `wrong-gradient`."""

import keras
import numpy as np
from keras import layers, ops


@ops.custom_gradient
def scaled(x, factor):
    def grad(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        return upstream * factor, ops.sum(upstream * x)

    return x * factor, grad


@keras.saving.register_keras_serializable(package="docs")
class Scale(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

    def call(self, x):
        return scaled(ops.cast(x, self.compute_dtype), 1.0 * self.factor)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Scale()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
