"""Keeps `model-config-defaults`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs_model_config_defaults")
class Classifier(keras.Model):
    def __init__(self, classes=10, **kwargs):
        super().__init__(**kwargs)
        self.classes = classes
        self.scores = layers.Dense(classes, dtype=self.dtype_policy)

    def build(self, input_shape):
        self.scores.build(input_shape)

    def call(self, x):
        return self.scores(ops.cast(x, self.compute_dtype))

    def compute_output_shape(self, input_shape):
        return (*input_shape[:-1], self.classes)

    def get_config(self):
        return {**super().get_config(), "classes": self.classes}


def make():
    return Classifier(3)


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
