"""A layer that `assign-to-trainable` rejects."""

import numpy as np
from keras import layers, ops


class Centred(layers.Layer):
    def build(self, input_shape):
        self.mean = self.add_weight(shape=(input_shape[-1],), initializer="zeros", name="mean")

    def call(self, x, training=None):
        if training:
            self.mean.assign(0.9 * self.mean + 0.1 * ops.mean(x, axis=0))
        return x - self.mean


def make():
    return Centred()


INPUTS = (np.random.default_rng(0).standard_normal((3, 4)).astype("float32"),)
BACKENDS = ("jax",)
