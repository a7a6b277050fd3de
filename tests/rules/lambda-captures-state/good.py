"""Keeps `lambda-captures-state`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs_lambda_captures_state")
class Head(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scores = layers.Dense(3, trainable=self.trainable, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.scores.build(input_shape)

    def call(self, x):
        return self.scores(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 3)


def make():
    return Head()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
