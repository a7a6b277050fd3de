"""Keeps `config-extra-key`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_extra_key")
class Pad(keras.layers.Layer):
    def __init__(self, width=1, **kwargs):
        super().__init__(**kwargs)
        self.width = width

    def call(self, x):
        return ops.pad(ops.cast(x, self.compute_dtype), [[0, 0], [self.width, self.width]])

    def compute_output_shape(self, input_shape):
        return (input_shape[0], input_shape[1] + 2 * self.width)

    def get_config(self):
        return {**super().get_config(), "width": self.width}


def make():
    return Pad(width=2)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
