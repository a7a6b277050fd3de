"""A layer that `state-in-call` rejects."""

import numpy as np
from keras import layers


class Gate(layers.Layer):
    def call(self, x):
        return x * layers.Dense(4, activation="sigmoid")(x)


def make():
    return Gate()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
