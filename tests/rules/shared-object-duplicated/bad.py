"""Breaks `shared-object-duplicated`."""

import keras
import numpy as np
from keras import layers


class Twice(keras.layers.Layer):
    def __init__(self, first, second, **kwargs):
        super().__init__(**kwargs)
        self.first, self.second = first, second

    def build(self, input_shape):
        for part in (self.first, self.second):
            if not part.built:
                part.build(input_shape)

    def call(self, x):
        return self.second(self.first(x))

    def get_config(self):
        first, second = self.first.get_config(), self.second.get_config()
        return {**super().get_config(), "first": first, "second": second}

    @classmethod
    def from_config(cls, config):
        parts = {key: layers.Dense.from_config(config[key]) for key in ("first", "second")}
        return cls(**{**config, **parts})


def make():
    shared = layers.Dense(4)
    return Twice(shared, shared)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
