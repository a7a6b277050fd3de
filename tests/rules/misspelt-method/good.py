"""A layer that `misspelt-method` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Scale(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.scale = self.add_weight(shape=(input_shape[-1],), name="scale")

    def call(self, x):
        return ops.cast(x, self.compute_dtype) * self.scale

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
