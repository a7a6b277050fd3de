"""Breaks `state-in-branch`."""

import keras
import numpy as np
from keras import ops

BACKENDS = ("jax",)


class Maybe(keras.layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.seed_generator = keras.random.SeedGenerator(1)

    def call(self, x, training=None):
        if not training:
            return x
        return ops.cond(
            ops.mean(x) > 0,
            lambda: x + keras.random.normal(ops.shape(x), dtype=x.dtype, seed=self.seed_generator),
            lambda: x,
        )


def make():
    return Maybe()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
