"""Keeps `direct-call-method`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Projected(keras.layers.Layer):
    def __init__(self, units=4, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.units = units
        self.dense = layers.Dense(units, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        return self.dense(x)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.units)

    def get_config(self):
        return {**super().get_config(), "units": self.units}


def make():
    return Projected()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
