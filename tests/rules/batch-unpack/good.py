"""Keeps `batch-unpack`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Regressor(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        return self.dense(x)

    def compute_output_shape(self, input_shape):
        return self.dense.compute_output_shape(input_shape)

    def test_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        error = ops.abs(y - self(x, training=False))
        return {"error": ops.mean(error if sample_weight is None else error * sample_weight)}


def make():
    return Regressor()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
