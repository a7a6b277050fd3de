"""Breaks `activation-not-reloadable`."""

import keras
import numpy as np
from keras import ops


class Bent(keras.layers.Layer):
    def __init__(self, activation=ops.sin, **kwargs):
        super().__init__(**kwargs)
        self.activation = keras.activations.get(activation)

    def call(self, x):
        return self.activation(x)

    def get_config(self):
        return {**super().get_config(), "activation": keras.activations.serialize(self.activation)}


def make():
    return Bent()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
