"""A layer that `no-super-init` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Shift(layers.Layer):
    def __init__(self, shift=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.shift = shift

    def call(self, x):
        return ops.cast(x, self.compute_dtype) + self.shift

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "shift": self.shift}


def make():
    return Shift()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
