"""A layer that `untracked-layer` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Stack(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.blocks = [layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable) for _ in range(2)]

    def build(self, input_shape):
        for block in self.blocks:
            block.build(input_shape)

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        for block in self.blocks:
            x = block(x)
        return x

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Stack()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
