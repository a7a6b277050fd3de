"""Breaks `positional-non-tensor`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Window(layers.Layer):
    def call(self, x, steps):
        return x[:, :steps]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], None, *input_shape[2:])


def make():
    return Window()


INPUTS = (np.ones((2, 4), "float32"), 3)
