"""Keeps `length-baked`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class AddPosition(layers.Layer):
    def __init__(self, max_length=32, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.max_length = max_length

    def build(self, input_shape):
        self.table = self.add_weight(shape=(self.max_length, input_shape[-1]), name="table")

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x + ops.convert_to_tensor(self.table)[: ops.shape(x)[1]]

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "max_length": self.max_length}


def make():
    return AddPosition()


INPUTS = (np.ones((2, 5, 3), "float32"),)
