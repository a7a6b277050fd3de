"""Keeps `training-not-forwarded`."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Head(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.drop = layers.Dropout(0.5, dtype=self.dtype_policy)
        self.dense = layers.Dense(3, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x, training=None):
        return self.dense(self.drop(x, training=training))

    def compute_output_shape(self, input_shape):
        return self.dense.compute_output_shape(input_shape)


def make():
    return Head()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
