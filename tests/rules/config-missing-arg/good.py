"""Keeps `config-missing-arg`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_missing_arg")
class LeakyScale(keras.layers.Layer):
    def __init__(self, slope=0.1, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.slope = slope

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.where(x > 0, x, self.slope * x)

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)

    def get_config(self):
        return {**super().get_config(), "slope": self.slope}


def make():
    return LeakyScale(slope=0.3)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
