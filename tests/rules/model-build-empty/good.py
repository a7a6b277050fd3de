"""A layer that `model-build-empty` accepts."""

import keras
import numpy as np
from keras import layers


@keras.saving.register_keras_serializable(package="docs")
class Classifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.head = layers.Dense(3, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.head.build(input_shape)

    def call(self, x):
        return self.head(x)

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 3)


def make():
    return Classifier()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
