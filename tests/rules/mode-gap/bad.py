"""Breaks `mode-gap`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs")
class Pick(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x, training=None):
        soft = ops.softmax(ops.cast(x, self.compute_dtype))
        if not training:
            return soft
        hard = ops.one_hot(ops.argmax(soft, axis=-1), x.shape[-1], dtype=soft.dtype)
        return soft + ops.stop_gradient(hard - soft)

    def compute_output_shape(self, input_shape):
        return input_shape


def make():
    return Pick()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
