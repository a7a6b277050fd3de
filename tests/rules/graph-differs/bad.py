"""Breaks `graph-differs`."""

import numpy as np
from keras import layers


class Alternate(layers.Layer):
    def call(self, x):
        import tensorflow as tf

        return x * 2.0 if tf.executing_eagerly() else x


def make():
    return Alternate()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
BACKENDS = ("tensorflow",)
