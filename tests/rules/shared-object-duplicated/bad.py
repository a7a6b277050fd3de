"""Breaks `shared-object-duplicated`."""

import keras
import numpy as np
from keras import layers


class Twice(keras.layers.Layer):
    def __init__(self, first, second, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = first, second

    def build(self, input_shape):
        self.first.build(input_shape)
        self.second.build(input_shape)

    def call(self, x):
        return self.second(self.first(x))

    def get_config(self):
        parts = [keras.saving.serialize_keras_object(part) for part in (self.first, self.second)]
        return {**super().get_config(), "first": parts[0], "second": parts[1]}

    @classmethod
    def from_config(cls, config):
        parts = {key: keras.layers.deserialize(config[key]) for key in ("first", "second")}
        return cls(**{**config, **parts})


def make():
    shared = layers.Dense(4)
    return Twice(shared, shared)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
