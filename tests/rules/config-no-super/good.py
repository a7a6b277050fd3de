"""Keeps `config-no-super`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_no_super")
class Shift(keras.layers.Layer):
    def __init__(self, by=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.by = by

    def call(self, x):
        return ops.cast(x, self.compute_dtype) + self.by

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "by": self.by}


def make():
    return Shift(by=2.0)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
