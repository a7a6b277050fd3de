"""Breaks `functional-subclass-config`."""

import keras
import numpy as np
from keras import layers


class Tower(keras.Model):
    def __init__(self, inputs, outputs, temperature=1.0, **kwargs):
        super().__init__(inputs, outputs, **kwargs)
        self.temperature = temperature


def make():
    inputs = keras.Input((4,))
    return Tower(inputs, layers.Dense(3)(inputs), temperature=0.5)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
