"""Keeps `python-state-in-call`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Warm(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        self.step = self.add_weight(
            shape=(), initializer="zeros", dtype="int32", trainable=False, autocast=False, name="step"
        )

    def call(self, x, training=None):
        if training:
            self.step.assign_add(1)
        return x / ops.cast(ops.maximum(self.step, 1), x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Warm()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
