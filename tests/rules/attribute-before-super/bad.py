"""A layer that `attribute-before-super` rejects."""

import numpy as np
from keras import layers


class Double(layers.Layer):
    def __init__(self, **kwargs):
        self.supports_masking = True
        super().__init__(**kwargs)

    def call(self, x):
        return x * 2.0


def make():
    return Double()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
