"""Breaks `config-snapshot`."""

import keras
import numpy as np


class Amplify(keras.layers.Layer):
    def __init__(self, gain=1.0, **kwargs):
        super().__init__(**kwargs)
        self.gain = gain
        self.config = super().get_config()
        self.config.update({"gain": gain})

    def call(self, x):
        return self.gain * x

    def get_config(self):
        return self.config


def make():
    return Amplify(gain=0.5)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
