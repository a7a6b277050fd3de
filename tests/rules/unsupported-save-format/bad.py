"""Breaks `unsupported-save-format`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs_unsaved_format")
class Classifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scores = layers.Dense(3, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.scores.build(input_shape)

    def call(self, x):
        return self.scores(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], 3)

    def keep(self):
        self.save("classifier")


def make():
    return Classifier()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
