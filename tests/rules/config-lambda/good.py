"""Keeps `config-lambda`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_lambda")
class Apply(keras.layers.Layer):
    def __init__(self, fn, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.fn = keras.activations.get(fn)

    def call(self, x):
        return self.fn(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "fn": keras.activations.serialize(self.fn)}


def make():
    return Apply("tanh")


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
