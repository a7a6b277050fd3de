"""Breaks `deprecated-train-step`."""

import keras
import numpy as np
from keras import layers


class Regressor(keras.Model):
    def __init__(self, **kwargs):
        super().__init__(**kwargs)
        self.dense = layers.Dense(1, dtype=self.dtype_policy, trainable=self.trainable)

    def build(self, input_shape):
        self.dense.build(input_shape)

    def call(self, x):
        return self.dense(x)

    def test_step(self, data):
        x, y, sample_weight = keras.utils.unpack_x_y_sample_weight(data)
        y_pred = self(x, training=False)
        loss = self.compiled_loss(y, y_pred, sample_weight)
        return {"loss": loss}


def make():
    return Regressor()


INPUTS = (np.linspace(-1.0, 1.0, 8, dtype="float32").reshape(2, 4),)
