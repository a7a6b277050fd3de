"""Breaks `no-compute-output-shape`."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Half(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def call(self, x):
        return ops.cast(x, self.compute_dtype) * 0.5


def make():
    return Half()


INPUTS = (np.linspace(-1, 1, 8, dtype="float32").reshape(2, 4),)
