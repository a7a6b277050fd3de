"""A layer that `unordered-weights` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Paths(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.paths = [layers.Dense(4, dtype=self.dtype_policy, trainable=self.trainable) for _ in range(2)]

    def build(self, input_shape):
        for path in self.paths:
            path.build(input_shape)

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return sum(path(x) for path in self.paths)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 4)


def make():
    return Paths()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
