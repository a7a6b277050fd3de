"""A layer that `weight-snapshot` rejects."""

import numpy as np
from keras import layers, ops


class Mix(layers.Layer):
    def build(self, input_shape):
        self.logits = self.add_weight(shape=(input_shape[-1],), name="logits")
        self.shares = ops.softmax(self.logits * 1.0)

    def call(self, x):
        return x * ops.cast(self.shares, x.dtype)


def make():
    return Mix()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
