"""A layer that `frozen-children-trainable` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Wrapped(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.proj = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.proj.build(input_shape)

    def call(self, x):
        return self.proj(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Wrapped()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
