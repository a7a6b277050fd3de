"""A layer that `state-in-call` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Gate(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.gate = layers.Dense(
            input_shape[-1], activation="sigmoid", dtype=self.dtype_policy, trainable=self.trainable
        )
        self.gate.build(input_shape)

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * self.gate(x)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Gate()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
