"""Keeps `state-not-saved`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_state_not_saved")
class Centre(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, input_shape):
        if not self.built:
            shape = (input_shape[-1],)
            self.centre = self.add_weight(shape=shape, initializer="zeros", trainable=False, name="centre")

    def adapt(self, data):
        self.build(data.shape)
        self.built = True
        self.centre.assign(np.mean(data, axis=0))

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x - ops.cast(self.centre, x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    layer = Centre()
    layer.adapt(np.full((5, 4), 3.0, "float32"))
    return layer


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
