"""Keeps `functional-subclass-config`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs_functional_subclass_config")
class Tower(keras.Model):
    def __init__(self, features=4, temperature=1.0, dtype=None, **kwargs):
        policy = keras.dtype_policies.get(dtype)
        inputs = keras.Input((features,), dtype=policy.variable_dtype)
        outputs = layers.Rescaling(1.0 / temperature, dtype=policy)(inputs)
        super().__init__(inputs=inputs, outputs=outputs, **kwargs)
        self.dtype_policy = policy
        self.features = features
        self.temperature = temperature

    def get_config(self):
        return {
            "name": self.name,
            "trainable": self.trainable,
            "dtype": keras.dtype_policies.serialize(self.dtype_policy),
            "features": self.features,
            "temperature": self.temperature,
        }

    @classmethod
    def from_config(cls, config, custom_objects=None):
        return cls(**config)


def make():
    return Tower(temperature=0.5)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
