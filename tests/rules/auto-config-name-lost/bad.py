"""Breaks `auto-config-name-lost`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_auto_config_name_lost")
class Scale(keras.layers.Layer):
    def __init__(self, by=2.0, **options):
        super().__init__(**options)
        self.supports_masking = True
        self.by = by

    def call(self, x):
        return self.by * ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Scale()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
