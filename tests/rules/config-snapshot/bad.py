"""Breaks `config-snapshot`."""

import keras
import numpy as np
from keras import ops


class Sharpen(keras.layers.Layer):
    def __init__(self, temperature=1.0, **kwargs):
        super().__init__(**kwargs)
        self.temperature = temperature
        self.config = super().get_config()
        self.config.update({"temperature": temperature})

    def call(self, x):
        return ops.softmax(x / self.temperature)

    def get_config(self):
        return self.config


def make():
    return Sharpen(temperature=0.5)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
