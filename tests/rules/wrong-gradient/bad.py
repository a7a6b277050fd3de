"""Breaks `wrong-gradient`."""

import numpy as np
from keras import layers, ops


@ops.custom_gradient
def scaled(x, factor):
    def grad(*args, upstream=None):
        upstream = args[0] if upstream is None else upstream
        return upstream * factor, 3.0 * ops.sum(upstream * x)

    return x * factor, grad


class Scale(layers.Layer):
    def build(self, input_shape):
        self.factor = self.add_weight(shape=(), initializer="ones", name="factor")

    def call(self, x):
        return scaled(x, 1.0 * self.factor)


def make():
    return Scale()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
