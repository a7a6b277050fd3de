"""A layer that `assign-to-trainable` accepts."""

import keras
import numpy as np
from keras import layers, ops


@keras.saving.register_keras_serializable(package="docs")
class Centred(layers.Layer):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)

    def build(self, input_shape):
        self.mean = self.add_weight(
            shape=(input_shape[-1],),
            initializer="zeros",
            dtype="float32",
            autocast=False,
            trainable=False,
            name="mean",
        )

    def call(self, x, training=None):
        x = ops.cast(x, self.compute_dtype)
        y = x - ops.cast(self.mean, x.dtype)
        if training:
            mean = ops.mean(ops.cast(x, "float32"), axis=0)
            self.mean.assign(0.9 * self.mean + 0.1 * ops.stop_gradient(mean))
        return y

    def compute_output_shape(self, input_shape):
        return tuple(input_shape)


def make():
    return Centred()


INPUTS = (np.random.default_rng(0).standard_normal((3, 4)).astype("float32"),)
BACKENDS = ("jax",)
