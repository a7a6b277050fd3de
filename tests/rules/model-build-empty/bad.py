"""A layer that `model-build-empty` rejects."""

import keras
import numpy as np
from keras import layers


class Classifier(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.head = layers.Dense(3, dtype=self.dtype_policy)

    def call(self, x):
        return self.head(x)


def make():
    return Classifier()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
