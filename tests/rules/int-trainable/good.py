"""A layer that `int-trainable` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Steps(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.steps = self.add_weight(
            shape=(input_shape[-1],), dtype="int32", initializer="ones", trainable=False, name="steps"
        )

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * ops.cast(self.steps, x.dtype)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Steps()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
