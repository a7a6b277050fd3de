"""A layer that `build-signature` rejects."""

import numpy as np
from keras import layers, ops


class Pair(layers.Layer):
    def build(self, q, k):
        self.w = self.add_weight(shape=(q[-1], k[-1]), name="w")

    def call(self, q, k):
        return ops.sum(ops.matmul(q, self.w) * k, axis=-1, keepdims=True)


def make():
    return Pair()


INPUTS = (np.ones((2, 4), "float32"), np.ones((2, 3), "float32"))
