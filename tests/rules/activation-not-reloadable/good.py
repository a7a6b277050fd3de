"""Keeps `activation-not-reloadable`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_activation_not_reloadable")
class Bent(keras.layers.Layer):
    def __init__(self, activation="tanh", **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.activation = keras.activations.get(activation)

    def call(self, x):
        return self.activation(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}


def make():
    return Bent()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
