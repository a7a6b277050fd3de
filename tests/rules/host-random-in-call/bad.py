"""Breaks `host-random-in-call`."""

import keras
import numpy as np


class Jitter(keras.layers.Layer):
    def call(self, x, training=False):
        return x + float(np.random.normal()) if training else x


def make():
    return Jitter()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
