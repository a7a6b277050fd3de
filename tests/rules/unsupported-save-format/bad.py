"""Breaks `unsupported-save-format`."""

import keras
import numpy as np
from keras import layers


class Classifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.scores = layers.Dense(3)

    def build(self, input_shape):
        self.scores.build(input_shape)

    def call(self, x):
        return self.scores(x)

    def keep(self):
        self.save("classifier")


def make():
    return Classifier()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
