"""Keeps `list-in-concat`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class AppendFlags(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        flags = ops.convert_to_tensor([[1.0, 2.0]], dtype=x.dtype)
        flags = ops.broadcast_to(flags, (ops.shape(x)[0], 2))
        return ops.concatenate([x, flags], axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], input_shape[-1] + 2)


def make():
    return AppendFlags()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
