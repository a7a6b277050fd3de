"""Keeps `config-snapshot`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_snapshot")
class Amplify(keras.layers.Layer):
    def __init__(self, gain=1.0, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.gain = gain

    def call(self, x):
        return self.gain * ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "gain": self.gain}


def make():
    return Amplify(gain=0.5)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
