"""A layer that `int-trainable` rejects."""

import numpy as np
from keras import layers, ops


class Steps(layers.Layer):
    def build(self, input_shape):
        self.steps = self.add_weight(shape=(input_shape[-1],), dtype="int32", initializer="ones", name="steps")

    def call(self, x):
        return x * ops.cast(self.steps, x.dtype)


def make():
    return Steps()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
