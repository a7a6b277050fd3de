"""Keeps `positional-non-tensor`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Window(layers.Layer):
    def __init__(self, steps=3, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.steps = steps

    def call(self, x):
        return ops.cast(x, self.compute_dtype)[:, : self.steps]

    def compute_output_shape(self, input_shape):
        return (input_shape[0], self.steps, *input_shape[2:])

    def get_config(self):
        return {**super().get_config(), "steps": self.steps}


def make():
    return Window()


INPUTS = (np.ones((2, 4), "float32"),)
