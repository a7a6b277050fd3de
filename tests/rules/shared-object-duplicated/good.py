"""Keeps `shared-object-duplicated`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs_shared_object_duplicated")
class Twice(keras.layers.Layer):
    def __init__(self, shared, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.shared = shared

    def build(self, input_shape):
        if not self.shared.built:
            self.shared.build(input_shape)

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return ops.cast(self.shared(self.shared(x)), x.dtype)

    def compute_output_shape(self, input_shape):
        return input_shape

    def get_config(self):
        return {**super().get_config(), "shared": keras.saving.serialize_keras_object(self.shared)}

    @classmethod
    def from_config(cls, config):
        shared = keras.saving.deserialize_keras_object(config["shared"])
        return cls(**{**config, "shared": shared})


def make():
    return Twice(layers.Dense(4))


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
