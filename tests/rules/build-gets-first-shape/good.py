"""A layer that `build-gets-first-shape` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Score(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        first, second = input_shape
        self.w = self.add_weight(shape=(first[-1],), name="w")

    def call(self, inputs):
        x, y = inputs
        return ops.cast(x, self.compute_dtype) * self.w * ops.cast(y, self.compute_dtype)

    def compute_mask(self, inputs, mask=None):
        return mask[0] if mask else None

    def compute_output_shape(self, input_shape):
        return tuple(input_shape[0])


def make():
    return Score()


INPUTS = (
    [
        np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),
        np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),
    ],
)
