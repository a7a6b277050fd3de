"""A layer that `unused-sublayer` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Block(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.proj = layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.proj.build(input_shape)

    def call(self, x, training=None):
        return self.drop(self.proj(ops.cast(x, self.compute_dtype)), training=training)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Block()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
