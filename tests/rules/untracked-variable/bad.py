"""A layer that `untracked-variable` rejects."""

import keras
import numpy as np
from keras import layers, ops


class Box:
    def __init__(self):
        self.scale = keras.Variable([1.0, 1.0, 1.0, 1.0])


class Scale(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.box = Box()

    def call(self, x):
        x = ops.cast(x, self.compute_dtype)
        return x * ops.cast(self.box.scale, x.dtype)


def make():
    return Scale()


INPUTS = (np.random.default_rng(0).standard_normal((2, 4)).astype("float32"),)
