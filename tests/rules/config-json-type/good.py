"""Keeps `config-json-type`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_json_type")
class ToGrid(keras.layers.Layer):
    def __init__(self, grid, **kwargs):
        super().__init__(**kwargs)
        self.grid = tuple(grid)

    def call(self, x):
        return ops.reshape(ops.cast(x, self.compute_dtype), (-1,) + self.grid)

    def compute_output_shape(self, input_shape):
        return (input_shape[0],) + self.grid

    def compute_mask(self, inputs, previous_mask=None):
        return None

    def get_config(self):
        return {**super().get_config(), "grid": self.grid}


def make():
    return ToGrid((2, 2))


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
