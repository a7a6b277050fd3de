"""Breaks `config-not-idempotent`."""

import keras
import numpy as np


class Gain(keras.layers.Layer):
    def __init__(self, rate=0.5, **kwargs):
        super().__init__(**kwargs)
        self.rate = 2 * rate

    def call(self, x):
        return x * self.rate

    def get_config(self):
        return {**super().get_config(), "rate": self.rate}


def make():
    return Gain(0.25)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
