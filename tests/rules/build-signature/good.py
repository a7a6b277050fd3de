"""A layer that `build-signature` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Pair(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.supports_masking = True

    def build(self, q_shape, k_shape):
        self.w = self.add_weight(shape=(q_shape[-1], k_shape[-1]), name="w")

    def call(self, q, k):
        q, k = ops.cast(q, self.compute_dtype), ops.cast(k, self.compute_dtype)
        return ops.sum(ops.matmul(q, self.w) * k, axis=-1, keepdims=True)

    def compute_output_shape(self, q_shape, k_shape):
        return (*q_shape[:-1], 1)


def make():
    return Pair()


INPUTS = (np.ones((2, 4), "float32"), np.ones((2, 3), "float32"))
