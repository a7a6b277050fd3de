"""Keeps `config-object-not-deserialized`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs_config_object_not_deserialized")
class Residual(keras.layers.Layer):
    def __init__(self, inner, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.inner = inner

    def build(self, input_shape):
        if not self.inner.built:
            self.inner.build(input_shape)

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x + ops.cast(self.inner(x), x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "inner": keras.saving.serialize_keras_object(self.inner)}

    @classmethod
    def from_config(cls, config):
        inner = keras.saving.deserialize_keras_object(config["inner"])
        return cls(**{**config, "inner": inner})


def make():
    return Residual(layers.Dense(4))


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
