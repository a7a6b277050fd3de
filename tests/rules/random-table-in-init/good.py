"""Keeps `random-table-in-init`."""

import keras
import numpy as np
from keras import ops


@keras.saving.register_keras_serializable(package="docs_random_table_in_init")
class Project(keras.layers.Layer):
    def __init__(self, size=3, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True
        self.size = size

    def build(self, input_shape):
        shape = (input_shape[-1], self.size)
        self.table = self.add_weight(shape=shape, initializer="random_normal", trainable=False, name="table")

    def call(self, x):
        return ops.matmul(ops.cast(x, self.compute_dtype), self.table)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.size)


def make():
    return Project()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
