"""Keeps `config-not-serializable`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_config_not_serializable")
class Pick(keras.layers.Layer):
    def __init__(self, columns=(0, 1), **kwargs):
        super().__init__(**kwargs)
        self.columns = sorted(set(columns))

    def call(self, x):
        return ops.take(ops.cast(x, self.compute_dtype), self.columns, axis=-1)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], len(self.columns))

    def get_config(self):
        return {**super().get_config(), "columns": self.columns}


def make():
    return Pick()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
