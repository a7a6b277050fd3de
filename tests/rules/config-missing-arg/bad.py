"""Breaks `config-missing-arg`."""

import keras
import numpy as np
from keras import ops


class LeakyScale(keras.layers.Layer):
    def __init__(self, slope=0.1, **kwargs):
        super().__init__(**kwargs)
        self.slope = slope

    def call(self, x):
        return ops.where(x > 0, x, self.slope * x)

    def get_config(self):
        return super().get_config()


def make():
    return LeakyScale(slope=0.3)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
