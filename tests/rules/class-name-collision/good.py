"""Keeps `class-name-collision`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_no_collision", name="Doubled")
class Doubled(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return 2.0 * ops.cast(x, self.compute_dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


@keras.saving.register_keras_serializable(package="docs_no_collision", name="Tripled")
class Tripled(Doubled):
    def call(self, x):
        return 3.0 * ops.cast(x, self.compute_dtype)


def make():
    return Doubled()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
