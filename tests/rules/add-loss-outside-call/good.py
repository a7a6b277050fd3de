"""Keeps `add-loss-outside-call`."""

import keras
import numpy as np


@keras.saving.register_keras_serializable(package="docs")
class Penalized(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.w = self.add_weight(shape=(input_shape[-1],), initializer="ones", regularizer="l2", name="w")

    def call(self, x):
        return x * self.w

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Penalized()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
